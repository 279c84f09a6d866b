import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  Client,
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
  type WorkflowClientInterceptor,
} from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { endCallsOnceClosed } from './ended-calls.ts';

/** The module that keeps texts out of histories; client, worker and workflow bundle each load it. */
export const FAILURE_CONVERTER = fileURLToPath(new URL('../workflows/failure-converter.ts', import.meta.url));

export const dataConverter: DataConverter = { failureConverterPath: FAILURE_CONVERTER };

/** Where Temporal is, and how to be let in. */
export type TemporalSettings = {
  address: string;
  namespace: string;
  apiKey?: string | undefined;
  /** Paths of PEM files. */
  tls?: { certPath?: string | undefined; keyPath?: string | undefined; caPath?: string | undefined } | undefined;
};

/**
 * A client that connects at its first call. `identity` is what histories show of this process; `around` goes around its
 * calls.
 */
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

/** For the client's connection and the workers' native one alike. */
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
