import { type Interceptor, InterceptingCall, Metadata, status } from '@grpc/grpc-js';

/**
 * A call that its retry begins again after the connection was closed ends as canceled. Without this the retry, which
 * runs in a timer, would end the process: a closed channel throws.
 */
export const endCallsOnceClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    return endedCall((error as Error).message);
  }
};

/** Its answer comes at once, and nothing is sent. */
function endedCall(details: string): InterceptingCall {
  const ended = { code: status.CANCELLED, details, metadata: new Metadata() };
  return new InterceptingCall(null as never, {
    start: (_metadata, listener) => listener.onReceiveStatus(ended),
    sendMessage() {},
    halfClose() {},
    cancel() {},
  });
}
