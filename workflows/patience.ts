/**
 * How long Temporal waits: for a sign of life of a worker before it gives the step to another, for a short step, and
 * between two attempts at one. The kill harness bundles a module of less patience in the place of this one; workflows
 * read no environment.
 */
export const HEARTBEAT_TIMEOUT = '5 seconds';
export const SHORT_STEP_TIMEOUT = '30 seconds';
export const RETRY = { initialInterval: '1 second', maximumInterval: '30 seconds' } as const;
