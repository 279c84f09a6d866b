import { DefaultFailureConverter, type FailureConverter, type ProtoFailure } from '@temporalio/common';

/** Matches a class name, a refusal's code or an error's id, which quote no value. */
const OPAQUE = /^[\w-]{1,64}$/;

/**
 * Keeps texts out of histories, which cannot be erased: an error keeps its class, and a message only if it is a code or
 * an id. Stacks, details and causes are dropped, but a failure that Temporal wraps keeps the other one as cause.
 */
class OpaqueFailureConverter extends DefaultFailureConverter {
  override errorToFailure(...args: Parameters<DefaultFailureConverter['errorToFailure']>): ProtoFailure {
    return withoutTexts(super.errorToFailure(...args));
  }
}

export const failureConverter: FailureConverter = new OpaqueFailureConverter();

function withoutTexts(failure: ProtoFailure): ProtoFailure {
  const isWrapper = Boolean(failure.activityFailureInfo ?? failure.childWorkflowExecutionFailureInfo);
  const cause = isWrapper && failure.cause ? withoutTexts(failure.cause) : undefined;
  const bare = { ...failure, stackTrace: '', encodedAttributes: undefined, cause };
  if (failure.applicationFailureInfo) return { ...bare, ...applicationFailure(failure) };
  if (failure.canceledFailureInfo) return { ...bare, message: 'canceled', canceledFailureInfo: {} };
  if (failure.timeoutFailureInfo) {
    return {
      ...bare,
      message: 'timeout',
      timeoutFailureInfo: { ...failure.timeoutFailureInfo, lastHeartbeatDetails: undefined },
    };
  }
  return { ...bare, message: isWrapper ? 'the step failed' : 'failure' };
}

function applicationFailure({ message, applicationFailureInfo: info }: ProtoFailure): ProtoFailure {
  const type = OPAQUE.test(info?.type ?? '') ? info?.type : 'Error';
  return {
    message: OPAQUE.test(message ?? '') ? message : type,
    applicationFailureInfo: { ...info, type, details: undefined },
  };
}
