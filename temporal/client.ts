// The client of Temporal: how it connects, and what it does with texts of errors.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Interceptor, InterceptingCall, Metadata, status } from '@grpc/grpc-js';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';

/** The module that keeps texts out of histories; client, worker and workflow bundle each load it. */
export const FAILURE_CONVERTER = fileURLToPath(new URL('../workflows/failure-converter.ts', import.meta.url));

export const dataConverter: DataConverter = { failureConverterPath: FAILURE_CONVERTER };

export type TemporalSettings = {
  address: string;
  namespace: string;
  apiKey?: string | undefined;
  /** Paths of PEM files. */
  tls?: { certPath?: string | undefined; keyPath?: string | undefined; caPath?: string | undefined } | undefined;
};

/** Opens a client that connects at its first call. `identity` names this process in histories. */
export async function openTemporalClient(
  settings: TemporalSettings,
  identity: string,
  around: WorkflowClientInterceptor[] = [],
): Promise<Client> {
  const interceptors = [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), endCallsOnceClosed];
  const connection = Connection.lazy({ ...(await connectionOptions(settings)), interceptors });
  return new Client({
    connection,
    namespace: settings.namespace,
    identity,
    dataConverter,
    interceptors: { workflow: around },
  });
}

type TemporalConnection = { address: string; apiKey?: string } & Pick<ConnectionOptions, 'tls'>;

export async function connectionOptions({ address, apiKey, tls }: TemporalSettings): Promise<TemporalConnection> {
  const pem = (path: string | undefined) => (path ? readFile(path) : undefined);
  const [crt, key, ca] = await Promise.all([pem(tls?.certPath), pem(tls?.keyPath), pem(tls?.caPath)]);
  const pair = crt && key ? { clientCertPair: { crt, key } } : {};
  return {
    address,
    ...(apiKey ? { apiKey } : {}),
    ...(tls ? { tls: { ...(ca ? { serverRootCACertificate: ca } : {}), ...pair } } : {}),
  };
}

/** Ends a call as canceled if its retry begins after the close: it would throw in a timer, and end the process. */
const endCallsOnceClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    return endedCall((error as Error).message);
  }
};

function endedCall(details: string): InterceptingCall {
  const ended = { code: status.CANCELLED, details, metadata: new Metadata() };
  return new InterceptingCall(null as never, {
    start: (_metadata, listener) => listener.onReceiveStatus(ended),
    sendMessage() {},
    halfClose() {},
    cancel() {},
  });
}
