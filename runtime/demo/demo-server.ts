import type { Client } from '../../api/client.ts';

/** The demo's server and its user. */
export type DemoServer = { url: string; token: string; client: Client };
