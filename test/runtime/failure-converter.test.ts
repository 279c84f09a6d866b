import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  defaultPayloadConverter,
  type ProtoFailure,
  RetryState,
  ServerFailure,
  TemporalFailure,
  TerminatedFailure,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import protos from '@temporalio/proto';
import { describe, expect, it, test } from 'vitest';
import { failureConverter } from '../../workflows/failure-converter.ts';
import { marksIn, marksOf } from '../harness/jobs/history-search.ts';

const PLANTED = 'Planted.Person@example.com';
const FAULT_ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const about = `the value "${PLANTED}" is wrong`;
const inner = ApplicationFailure.create({
  message: about,
  type: about,
  details: [{ deep: [PLANTED] }],
  cause: new Error(about),
});

/** As the worker that `FAILURE_CONVERTER` is given to encodes it. */
function encode(error: unknown): ProtoFailure {
  return failureConverter.errorToFailure(error, defaultPayloadConverter);
}

/** Wherever it stands, in plain text or within a payload. */
function planted(failure: ProtoFailure): string[] {
  return marksIn({ events: [{ activityTaskFailedEventAttributes: { failure } }] }, marksOf([PLANTED]));
}

/** Every kind of failure that the SDK knows, with a value in each of its texts. */
const KINDS: Record<string, () => unknown> = {
  'an error': () => new RangeError(about, { cause: new Error(about) }),
  'an error whose name is a text': () => Object.assign(new Error(about), { name: about }),
  'a text thrown': () => about,
  'an object thrown': () => ({ message: about, name: about, stack: about }),
  'an application failure': () => inner,
  'a failed step': () =>
    new ActivityFailure('the step', 'mergeBatch', '7', RetryState.RETRY_STATE_UNSPECIFIED, 'millrace-1', inner),
  'a failed child': () =>
    new ChildWorkflowFailure(
      'default',
      { workflowId: 'file/fil_1', runId: 'r' },
      'buildFile',
      RetryState.RETRY_STATE_UNSPECIFIED,
      inner,
    ),
  'a cancellation': () => new CancelledFailure(about, [PLANTED], new Error(about)),
  'a timeout, with its last heartbeat': () =>
    new TimeoutFailure(about, { row: PLANTED }, TimeoutType.TIMEOUT_TYPE_HEARTBEAT),
  'a failure of the server': () => new ServerFailure(about, true, new Error(about)),
  'a termination': () => new TerminatedFailure(about, new Error(about)),
  'any failure of Temporal': () => new TemporalFailure(about, new Error(about)),
};

describe('nothing of a value gets into the history with', () => {
  it.for(Object.keys(KINDS))('%s', (kind) => {
    const error = KINDS[kind]!();
    if (error instanceof Error) error.stack = `${error.name}: ${about}\n    at ${PLANTED}.ts:1:1`;
    const failure = encode(error);
    expect(planted(failure)).toEqual([]);
    expect(failure.message, 'the failure is still one').toBeTruthy();
  });

  it('a failure that comes from the history of another', () => {
    const decoded = failureConverter.failureToError(
      {
        message: about,
        stackTrace: about,
        source: 'TypeScriptSDK',
        applicationFailureInfo: {
          type: 'RangeError',
          details: { payloads: [defaultPayloadConverter.toPayload(PLANTED)] },
        },
        encodedAttributes: defaultPayloadConverter.toPayload({ message: about, stack_trace: about }),
        cause: { message: about, stackTrace: about, applicationFailureInfo: { type: 'Error' } },
      },
      defaultPayloadConverter,
    );
    expect(planted(encode(decoded))).toEqual([]);
  });
});

test('the search finds what the SDK itself would have written', () => {
  const { message, applicationFailureInfo: info } = protos.temporal.api.failure.v1.Failure.create({
    message: about,
    applicationFailureInfo: { type: 'Error', details: { payloads: [defaultPayloadConverter.toPayload(PLANTED)] } },
  });
  expect(planted({ message })).toEqual([PLANTED]);
  expect(planted({ applicationFailureInfo: info })).toEqual([PLANTED]);
});

test('of an error of a step its class stays', () => {
  expect(encode(ApplicationFailure.fromError(new RangeError(about)))).toMatchObject({
    message: 'RangeError',
    applicationFailureInfo: { type: 'RangeError' },
    stackTrace: '',
  });
});

test('of a fault its class and its id stay, and whether it is tried again', () => {
  expect(encode(ApplicationFailure.retryable(FAULT_ID, 'DatabaseError'))).toMatchObject({
    message: FAULT_ID,
    applicationFailureInfo: { type: 'DatabaseError', nonRetryable: false },
  });
});

test('of a refusal its code stays, also as the cause of the step that failed, through a history and back', () => {
  const refusal = ApplicationFailure.nonRetryable('not_a_csv', 'Refusal');
  const step = new ActivityFailure('x', 'readFile', '7', RetryState.NON_RETRYABLE_FAILURE, 'millrace-1', refusal);
  const failure = encode(step);
  expect(failure).toMatchObject({
    activityFailureInfo: { activityType: { name: 'readFile' } },
    cause: { message: 'not_a_csv', applicationFailureInfo: { type: 'Refusal', nonRetryable: true } },
  });
  const back = failureConverter.failureToError(failure, defaultPayloadConverter) as ActivityFailure;
  expect(back).toBeInstanceOf(ActivityFailure);
  expect(back.cause).toMatchObject({ message: 'not_a_csv', type: 'Refusal', nonRetryable: true });
});
