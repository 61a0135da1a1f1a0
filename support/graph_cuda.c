/* SPDX-License-Identifier: BSD-3-Clause
 *
 * CUDA graphs, captured from queues.
 */
#include "cuda_driver.h"
#include "util.h"

#include <stdlib.h>

struct graph {
    CUgraphExec exec;
};

void cuda_capture(struct queue *queue)
{
    cuda_enter(queue->dev);
    cuda_check(cuda.cuStreamBeginCapture(queue->stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
}

struct graph *cuda_captured(struct queue *queue)
{
    struct graph *graph = host_alloc(sizeof(*graph));
    CUgraph captured;

    cuda_enter(queue->dev);
    cuda_check(cuda.cuStreamEndCapture(queue->stream, &captured), "cuStreamEndCapture");
    cuda_check(cuda.cuGraphInstantiateWithFlags(&graph->exec, captured, 0), "cuGraphInstantiateWithFlags");
    cuda_check(cuda.cuGraphDestroy(captured), "cuGraphDestroy");
    cuda_check(cuda.cuGraphUpload(graph->exec, queue->stream), "cuGraphUpload");
    return graph;
}

void cuda_replay(struct queue *queue, struct graph *graph)
{
    cuda_enter(queue->dev);
    cuda_check(cuda.cuGraphLaunch(graph->exec, queue->stream), "cuGraphLaunch");
}

void cuda_graph_close(struct graph *graph)
{
    cuda_check(cuda.cuGraphExecDestroy(graph->exec), "cuGraphExecDestroy");
    free(graph);
}
