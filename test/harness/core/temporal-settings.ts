/**
 * Dynamic configuration of Temporal. A task queue has few tasks here, and its four partitions, the default, ask each
 * other for tasks all the time.
 */
export const TEMPORAL = { 'matching.numTaskqueueReadPartitions': 1, 'matching.numTaskqueueWritePartitions': 1 };
