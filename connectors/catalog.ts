import { refuse } from '../domain/core/refusal.ts';
import { airbyte } from './airbyte/airbyte.ts';
import type { AnyConnector } from './core/contract.ts';
import { httpFile } from './http-file/http-file.ts';
import { postgres } from './postgres/postgres.ts';
import { s3 } from './s3/s3.ts';
import { singer } from './singer/singer.ts';
import { slack } from './slack/slack.ts';
import { webhook } from './webhook/webhook.ts';

/** Every connector there is, in the order in which they are listed. A new one joins here. */
export const connectors: AnyConnector[] = [postgres, httpFile, s3, singer, airbyte, webhook, slack];

/** The connector of a stored connection: an earlier version may have had others. */
export function connectorOf({ connector }: { connector: string }): AnyConnector {
  const message = `This server has no connector ${connector} any more: make a connection of another`;
  return findConnector(connector) ?? refuse(409, 'conflict', message);
}

/** Null: there is none of that name. */
export function findConnector(name: string): AnyConnector | null {
  return connectors.find((connector) => connector.name === name) ?? null;
}
