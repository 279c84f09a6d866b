/** How long Temporal waits. The kill harness bundles a less patient module instead: workflows read no environment. */
export const HEARTBEAT_TIMEOUT = '5 seconds';
export const SHORT_STEP_TIMEOUT = '30 seconds';
export const RETRY = { initialInterval: '1 second', maximumInterval: '30 seconds' } as const;
