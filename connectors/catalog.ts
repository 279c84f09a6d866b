import { refuse } from '../domain/core/refusal.ts';
import { airbyte } from './airbyte/airbyte.ts';
import type { AnyConnector } from './core/contract.ts';
import { httpFile } from './http-file/http-file.ts';
import { hubspot } from './hubspot/hubspot.ts';
import { postgres } from './postgres/postgres.ts';
import { s3 } from './s3/s3.ts';
import { salesforce } from './salesforce/salesforce.ts';
import { singer } from './singer/singer.ts';
import { slack } from './slack/slack.ts';
import { webhook } from './webhook/webhook.ts';
import { zendesk } from './zendesk/zendesk.ts';

/** All connectors, in the order of their list. Add a new one here. */
export const connectors: AnyConnector[] = [
  postgres,
  httpFile,
  s3,
  singer,
  airbyte,
  hubspot,
  salesforce,
  zendesk,
  webhook,
  slack,
];

/** Returns the connector of a stored connection, and refuses one that this version lacks. */
export function connectorOf({ connector }: { connector: string }): AnyConnector {
  const message = `This server has no connector ${connector} any more: make a connection of another`;
  return findConnector(connector) ?? refuse(409, 'conflict', message);
}

export function findConnector(name: string): AnyConnector | null {
  return connectors.find((connector) => connector.name === name) ?? null;
}
