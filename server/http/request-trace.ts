/** Traces requests (OpenTelemetry). */

export type RequestTrace = {
  run(handle: () => void): void;
  /** `status`: null if the caller hung up before the answer ended; `route`: null for an unknown path. */
  end(outcome: { route: string | null; status: number | null }): void;
};

/** Begins the trace of a request; `traceparent` is the caller's own. */
export type TraceRequest = (request: {
  method: string;
  requestId: string;
  traceparent: string | undefined;
}) => RequestTrace;
