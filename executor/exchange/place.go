package exchange

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// A Place is where the processes of a job meet: the host of process 0, and what tells the job from others there.
type Place struct {
	Host  string
	Ports []int // process 0 listens at the first that is free, and the others try them in turn
	// Local says that all processes are on one host. Then process 0 listens at Host alone, and else at all addresses of
	// its host, of IPv4 and IPv6: what Host means to the others may be no address of that host, or be its loopback.
	Local  bool
	Job    string // the launcher's name of the job, or "": a process joins only processes of the same name
	Secret []byte // that the processes of the job know, or none: strangers who do not know it are turned away
}

// At returns the place host:port, of a job without a name. An address that is none has no port, which Join says.
func At(address string) Place {
	host, text, _ := net.SplitHostPort(address)
	p := Place{Host: host, Local: Loopback(host)}
	if port, err := strconv.Atoi(text); err == nil {
		p.Ports = []int{port}
	}
	return p
}

// Loopback reports whether a host is the loopback by its spelling: then it leads to no other host.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Derived ports lie below those that Linux gives out by itself, and above those of most services.
const firstPort, portCount, candidates = 10240, 20000, 8

// Ports returns the ports at which a job of that name may meet, in the order in which all processes try them.
func Ports(job string) []int {
	ports := make([]int, candidates)
	for i := range ports {
		sum := sha256.Sum256(fmt.Appendf(nil, "mscclc port %d\n%s", i, job))
		ports[i] = firstPort + int(binary.LittleEndian.Uint32(sum[:])%portCount)
	}
	return ports
}

func (p *Place) address(port int) string { return net.JoinHostPort(p.Host, strconv.Itoa(port)) }

// listens returns the address at which process 0 listens, with a port.
func (p *Place) listens(port int) string {
	if p.Local {
		return p.address(port)
	}
	return net.JoinHostPort("", strconv.Itoa(port))
}

// String names the place in messages.
func (p *Place) String() string {
	if len(p.Ports) == 1 {
		return p.address(p.Ports[0])
	}
	ports := make([]string, len(p.Ports))
	for i, port := range p.Ports {
		ports[i] = strconv.Itoa(port)
	}
	return fmt.Sprintf("%s at one of the ports %s", p.Host, strings.Join(ports, ", "))
}

// An identity is the job's name as it goes over the network.
type identity [sha256.Size]byte

func (p *Place) identity() identity { return sha256.Sum256([]byte("mscclc job\n" + p.Job)) }
