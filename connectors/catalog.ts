import type { AnyConnector } from './contract.ts';
import { postgres } from './postgres/postgres.ts';
import { webhook } from './webhook/webhook.ts';

/** Every connector there is. */
export const connectors: AnyConnector[] = [postgres, webhook];
