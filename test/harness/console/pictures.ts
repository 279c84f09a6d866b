/** The pictures of the docs: which page of the demo's console each shows, and how much of it. */
import type { Page } from 'playwright-core';
import type { Client } from '../../../api/client.ts';

export type Picture = {
  /** Name of the file in docs/pictures, without its ending. */
  name: string;
  /** Returns the page's path below `/console`. */
  path: (client: Client) => Promise<string>;
  /** Brings the page into the state that the picture shows. */
  prepare?: (page: Page) => Promise<void>;
  /** A text that the page shows once it is whole. */
  until: string | RegExp;
  /** Heading of the panel at which the picture begins; default: the top of the page. */
  from?: string;
  height: number;
  /** Shows the menu and the top line as well. */
  withMenu?: true;
};

const show = (name: string) => (page: Page) => page.getByRole('button', { name }).click();

export const PICTURES: readonly Picture[] = [
  {
    name: 'home',
    path: async () => '/',
    until: 'waiting for approval',
    height: 620,
    withMenu: true,
  },
  {
    name: 'import',
    path: importPath,
    prepare: show('Show these rows'),
    until: 'Cells are text',
    height: 1060,
  },
  {
    name: 'sync',
    path: async (client) => `/syncs/${(await client.listSyncs({ query: {} })).items[0]!.identifier}`,
    until: 'finished',
    height: 820,
  },
  {
    name: 'exporter',
    path: exporterPath,
    prepare: show('Verify in the bucket'),
    until: /^compared \d/,
    height: 700,
  },
  {
    name: 'erasure',
    path: erasurePath,
    until: 'survivors in the last scan',
    height: 700,
  },
  {
    name: 'receipt',
    path: erasurePath,
    prepare: show('Show the receipts'),
    until: 'verified',
    from: 'Receipts',
    height: 640,
  },
  {
    name: 'data-map',
    path: async () => '/privacy/map',
    until: 'attribute_values',
    height: 760,
  },
  {
    name: 'live-calls',
    path: async (client) => `/apps/${await demoApp(client)}`,
    prepare: show('Show the live calls'),
    until: 'of their arrival',
    height: 1_180,
  },
  {
    name: 'explorer',
    path: async (client) => `/apps/${await demoApp(client)}/events`,
    until: 'Product Viewed',
    height: 900,
  },
  {
    name: 'funnel',
    path: async (client) =>
      `/funnels/${(await client.listFunnels({})).find(({ name }) => name === 'From a product to an order')!.identifier}?breakdown=app_version`,
    prepare: (page) => page.getByRole('button', { name: 'What they did instead after step 3' }).click(),
    until: 'Application Crashed',
    height: 1_270,
  },
  {
    name: 'segment',
    path: async (client) =>
      `/segments/${(await client.listSegments({ query: {} })).find(({ name }) => name === 'Stopped at checkout')!.identifier}`,
    until: 'Reachable by push',
    height: 620,
  },
  {
    name: 'campaign',
    path: campaignPath,
    until: 'confirmed by the device',
    height: 900,
  },
];

const demoApp = async (client: Client) =>
  (await client.listApps({ query: {} })).apps.find(({ name }) => name === 'Demo app')!.identifier;

async function campaignPath(client: Client): Promise<string> {
  const { result } = await client.listCampaigns({ query: { search: 'Your table' } });
  return `/campaigns/${result[0]!.identifier}`;
}

async function importPath(client: Client): Promise<string> {
  const { imports } = await client.listImportSummaries({ query: {} });
  return `/imports/${imports.find(({ rows }) => rows.open > 0)!.import_id}`;
}

async function exporterPath(client: Client): Promise<string> {
  const exporters = await client.listDataExporters({});
  return `/exports/${exporters.find(({ name }) => name === 'Events for the warehouse')!.identifier}`;
}

async function erasurePath(client: Client): Promise<string> {
  const { items } = await client.listGdprRequests({ query: { type: 'delete', state: 'treated' } });
  return `/privacy/${items[0]!.request_id}`;
}
