// This file holds ucx_abi.h to the header of UCX that is installed. It is compiled only.
#include "../ucx_abi.h"

#include <ucp/api/ucp.h>

#define SAME(theirs, their_field, ours, our_field)                                                    \
  static_assert(offsetof(theirs, their_field) == offsetof(ours, our_field), #theirs " " #their_field); \
  static_assert(sizeof(((theirs *)0)->their_field) == sizeof(((ours *)0)->our_field), #theirs " " #their_field)

SAME(ucp_params_t, field_mask, ucx_params, field_mask);
SAME(ucp_params_t, features, ucx_params, features);
SAME(ucp_worker_params_t, field_mask, ucx_worker_params, field_mask);
SAME(ucp_worker_params_t, thread_mode, ucx_worker_params, thread_mode);
SAME(ucp_ep_params_t, field_mask, ucx_ep_params, field_mask);
SAME(ucp_ep_params_t, address, ucx_ep_params, address);
SAME(ucp_ep_params_t, err_mode, ucx_ep_params, err_mode);
SAME(ucp_ep_params_t, err_handler.cb, ucx_ep_params, handler);
SAME(ucp_ep_params_t, err_handler.arg, ucx_ep_params, handler_arg);
SAME(ucp_tag_recv_info_t, sender_tag, ucx_tag_info, sender_tag);
SAME(ucp_tag_recv_info_t, length, ucx_tag_info, length);
SAME(ucp_request_param_t, op_attr_mask, ucx_op, mask);
SAME(ucp_request_param_t, flags, ucx_op, flags);
SAME(ucp_request_param_t, memh, ucx_op, memory);
SAME(ucp_mem_map_params_t, field_mask, ucx_map_params, field_mask);
SAME(ucp_mem_map_params_t, address, ucx_map_params, address);
SAME(ucp_mem_map_params_t, length, ucx_map_params, length);
// A struct of ours is as long as theirs, or longer.
static_assert(sizeof(ucp_params_t) <= sizeof(ucx_params), "params");
static_assert(sizeof(ucp_worker_params_t) <= sizeof(ucx_worker_params), "worker params");
static_assert(sizeof(ucp_ep_params_t) <= sizeof(ucx_ep_params), "endpoint params");
static_assert(sizeof(ucp_request_param_t) <= sizeof(ucx_op), "operation");
static_assert(sizeof(ucp_mem_map_params_t) <= sizeof(ucx_map_params), "memory");

static_assert(UCX_OK == UCS_OK && UCX_INPROGRESS == UCS_INPROGRESS && UCX_ERR_CANCELED == UCS_ERR_CANCELED &&
                  UCX_ERR_LAST == UCS_ERR_LAST && UCX_ERR_NO_MEMORY == UCS_ERR_NO_MEMORY,
              "statuses");
static_assert(sizeof(ucs_status_t) == 1 && sizeof(ucp_tag_t) == 8, "a status and a tag");
static_assert(UCX_PARAM_FEATURES == UCP_PARAM_FIELD_FEATURES && UCX_FEATURE_TAG == UCP_FEATURE_TAG, "params");
static_assert(UCX_WORKER_PARAM_THREAD_MODE == UCP_WORKER_PARAM_FIELD_THREAD_MODE &&
                  UCX_THREAD_SERIALIZED == UCS_THREAD_MODE_SERIALIZED,
              "worker");
static_assert(UCX_EP_PARAM_ADDRESS == UCP_EP_PARAM_FIELD_REMOTE_ADDRESS &&
                  UCX_EP_PARAM_ERR_MODE == UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE &&
                  UCX_EP_PARAM_ERR_HANDLER == UCP_EP_PARAM_FIELD_ERR_HANDLER &&
                  UCX_ERR_MODE_PEER == UCP_ERR_HANDLING_MODE_PEER,
              "endpoint");
static_assert(UCX_MAP_ADDRESS == UCP_MEM_MAP_PARAM_FIELD_ADDRESS && UCX_MAP_LENGTH == UCP_MEM_MAP_PARAM_FIELD_LENGTH,
              "memory");
static_assert(UCX_OP_MEMORY == UCP_OP_ATTR_FIELD_MEMH && UCX_OP_FLAGS == UCP_OP_ATTR_FIELD_FLAGS &&
                  UCX_OP_NOT_AT_ONCE == UCP_OP_ATTR_FLAG_NO_IMM_CMPL &&
                  UCX_CLOSE_FORCE == UCP_EP_CLOSE_FLAG_FORCE,
              "operation");
static_assert(UCP_API_MAJOR == UCX_API_MAJOR && UCP_API_MINOR >= UCX_API_MINOR, "version");
