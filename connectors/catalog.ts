import type { AnyConnector } from './contract.ts';
import { postgres } from './postgres/postgres.ts';
import { webhook } from './webhook/webhook.ts';

/** Every connector there is, in the order in which they are listed. A new one joins here. */
export const connectors: AnyConnector[] = [postgres, webhook];

/** Null: there is none of that name. */
export function findConnector(name: string): AnyConnector | null {
  return connectors.find((connector) => connector.name === name) ?? null;
}
