// Measures collectives of an MPI library as the OSU benchmarks do: the median of calls, of each the slowest process.
//
//   mpi COLLECTIVE CALLS BYTES...    COLLECTIVE is allreduce, allgather or alltoall
//
// BYTES are those of a process's larger buffer, as nccl-tests counts them. CALLS is how many calls of each size are
// timed; 0 is as many as take half a second. Process 0 prints a line for each size: COLLECTIVE BYTES MICROSECONDS.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void call(const char *name, long bytes, int processes, float *in, float *out) {
    int part = (int)(bytes / processes / (long)sizeof(float));
    if (!strcmp(name, "allreduce"))
        MPI_Allreduce(in, out, (int)(bytes / (long)sizeof(float)), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "allgather"))
        MPI_Allgather(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
    else
        MPI_Alltoall(in, part, MPI_FLOAT, out, part, MPI_FLOAT, MPI_COMM_WORLD);
}

// slowest returns how long a call takes in the process where it takes longest.
static double slowest(const char *name, long bytes, int processes, float *in, float *out) {
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    call(name, bytes, processes, in, out);
    double took = MPI_Wtime() - begin, most;
    MPI_Allreduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static double median(const char *name, int calls, long bytes, int processes) {
    float *in = calloc(1, (size_t)bytes), *out = calloc(1, (size_t)bytes);
    double first = 0;
    for (int i = 0; i < 3; i++)
        first = slowest(name, bytes, processes, in, out);
    if (calls == 0)
        calls = first > 0.05 ? 10 : first < 0.0005 ? 1000 : (int)(0.5 / first);
    double *took = malloc((size_t)calls * sizeof *took);
    for (int i = 0; i < calls; i++)
        took[i] = slowest(name, bytes, processes, in, out);
    qsort(took, (size_t)calls, sizeof *took, compare);
    double middle = took[calls / 2];
    free(in), free(out), free(took);
    return middle;
}

int main(int argc, char **argv) {
    int rank, processes;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (argc < 4 || (strcmp(argv[1], "allreduce") && strcmp(argv[1], "allgather") && strcmp(argv[1], "alltoall"))) {
        fprintf(stderr, "mpi allreduce|allgather|alltoall CALLS BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 3; i < argc; i++) {
        double middle = median(argv[1], atoi(argv[2]), atol(argv[i]), processes);
        if (rank == 0) {
            printf("%s %s %.1f\n", argv[1], argv[i], middle * 1e6);
            fflush(stdout);
        }
    }
    MPI_Finalize();
    return 0;
}
