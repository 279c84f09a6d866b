import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { testStore } from '../harness/core/database.ts';
import { programEnv } from '../harness/core/program-env.ts';
import { shellBlocks } from '../harness/core/shell-blocks.ts';
import { waitFor } from '../harness/core/wait.ts';
import { foreignPostgres } from '../harness/syncs/foreign-postgres.ts';
import { hubspotServer } from '../harness/syncs/hubspot-server.ts';
import { salesforceServer } from '../harness/syncs/salesforce-server.ts';
import { zendeskServer } from '../harness/syncs/zendesk-server.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
/** A page uses what the ones before it have made; erasing people comes last. */
const PAGES = [
  'README.md',
  'docs/first-import.md',
  'docs/imports.md',
  'docs/feed.md',
  'docs/connectors.md',
  'docs/syncs.md',
  'docs/hubspot.md',
  'docs/salesforce.md',
  'docs/zendesk.md',
  'docs/first-app.md',
  'docs/first-campaign.md',
  'docs/apps.md',
  'docs/tracking.md',
  'docs/reading.md',
  'docs/funnels.md',
  'docs/segments.md',
  'docs/campaigns.md',
  'docs/transactional-messages.md',
  'docs/files.md',
  'docs/user-tokens.md',
  'docs/data-wallet.md',
  'docs/push-certificates.md',
  'docs/push-providers.md',
  'docs/users.md',
  'docs/exports.md',
  'docs/attention.md',
  'docs/beyond-the-reference.md',
  'docs/gdpr.md',
];
/** Blocks that can't be run here, each with a reason above it; they should become fewer. */
const MAX_NOT_RUN = 36;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A folder like a clone in which `npm ci` is done, and the command linked as `npm link` does. */
async function cloned(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-docs-'));
  onFileEnd(() => rm(folder, { recursive: true, force: true }));
  for (const name of await readdir(PROJECT))
    if (!name.startsWith('.')) await symlink(join(PROJECT, name), join(folder, name));
  await mkdir(join(folder, '.bin'));
  await symlink(join(PROJECT, 'cli/millrace.js'), join(folder, '.bin/millrace'));
  return folder;
}

async function started(folder: string, port: number): Promise<void> {
  const service = spawn(process.execPath, [join(PROJECT, 'runtime/start.ts')], {
    cwd: folder,
    env: { ...programEnv(), PORT: String(port), MILLRACE_FETCH_ALLOW: '127.0.0.1' },
    stdio: 'ignore',
  });
  onFileEnd(async () => {
    const ended = once(service, 'exit');
    if (service.exitCode === null && service.kill('SIGTERM')) await ended;
  });
  await waitFor('the service', () =>
    fetch(`http://127.0.0.1:${port}/health/ready?parts=all`).then(
      ({ ok }) => ok || null,
      () => null,
    ),
  );
}

/** A shell in which block after block is run; what one sets the next ones have. */
class Shell {
  readonly #bash: ChildProcess;
  readonly #folder: string;
  #said = '';
  #blocks = 0;

  constructor(folder: string, url: string) {
    this.#folder = folder;
    const path = [join(folder, '.bin'), dirname(process.execPath), process.env['PATH']].join(':');
    this.#bash = spawn('bash', ['--noprofile', '--norc'], {
      cwd: folder,
      env: { ...programEnv(), PATH: path, MILLRACE_URL: url },
      stdio: 'pipe',
    });
    for (const stream of [this.#bash.stdout!, this.#bash.stderr!]) {
      stream.on('data', (chunk: Buffer) => {
        this.#said += chunk.toString();
      });
    }
    onFileEnd(async () => {
      this.#bash.kill();
    });
  }

  /** Gives what a block has printed, and the status of the first command that failed. */
  async run(code: string): Promise<{ said: string; status: number }> {
    this.#blocks += 1;
    const file = join(this.#folder, `block-${this.#blocks}.sh`);
    await writeFile(file, `${code}\n`);
    const before = this.#said.length;
    const end = new RegExp(`@@${this.#blocks} (\\d+)\\n`);
    this.#bash.stdin!.write(
      `failed=0; trap 'status=$?; [ $failed != 0 ] || failed=$status' ERR\n. '${file}' < /dev/null\ntrap - ERR\n` +
        `echo "@@${this.#blocks} $failed"\n`,
    );
    const ended = await waitFor(`block ${this.#blocks} to end; it said ${this.#said.slice(-500)}`, async () =>
      end.exec(this.#said.slice(before)),
    );
    return { said: this.#said.slice(before, before + ended.index), status: Number(ended[1]) };
  }
}

it('every command block of README and docs works as copied, in order', async () => {
  const [folder, port, store] = [await cloned(), await freePort(), await testStore()];
  const { db, role, settings } = await foreignPostgres(store);
  await db.query(`CREATE TABLE "${settings.schema.replaceAll('"', '""')}".customers (
      email text PRIMARY KEY, plan_name text, born text, notes text, updated_at timestamptz NOT NULL);
    ALTER TABLE "${settings.schema.replaceAll('"', '""')}".customers OWNER TO ${role};
    INSERT INTO "${settings.schema.replaceAll('"', '""')}".customers
      VALUES ('carol@example.com', 'gold', '29/02/1980', NULL, now() - interval '1 day')`);
  const hubspot = await hubspotServer();
  hubspot.put('contacts', { email: 'grace@example.com', firstname: 'Grace', lifecyclestage: 'lead' });
  const salesforce = await salesforceServer();
  salesforce.field('Contact', { name: 'Customer_Id__c', type: 'string', externalId: true, unique: true });
  salesforce.field('Contact', { name: 'Plan__c', type: 'string' });
  salesforce.put('Contact', { LastName: 'Hamilton', FirstName: 'Margaret', Email: 'margaret@example.com' });
  const carol = salesforce.put('Contact', {
    LastName: 'Shaw',
    Email: 'shaw@example.com',
    Customer_Id__c: 'carol@example.com',
  });
  const zendesk = await zendeskServer();
  const anHourAgo = Date.now() - 3_600_000;
  zendesk.field('plan', 'dropdown');
  zendesk.put({ id: 7, email: 'linus@example.com', name: 'Linus', user_fields: { plan: 'gold' } }, anHourAgo);
  await started(folder, port);
  /** Replacements that a reader makes, too: addresses of the service, the database and the CRMs. */
  const own = (code: string) =>
    code
      .replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${port}`)
      .replace(
        '{ "host": "db.example.com", "database": "shop", "user": "reader", "password": "…" }',
        JSON.stringify(settings),
      )
      .replace('{ "access_token": "pat-eu1-…" }', JSON.stringify({ access_token: hubspot.key, address: hubspot.url }))
      .replace(
        '{ "address": "https://acme.my.salesforce.com", "client_id": "3MVG9…", "client_secret": "…" }',
        JSON.stringify({
          address: salesforce.url,
          client_id: salesforce.app.clientId,
          client_secret: salesforce.app.clientSecret,
        }),
      )
      .replace('https://acme.zendesk.com', zendesk.url)
      .replace('"client_secret": "…"', `"client_secret": "${zendesk.client_secret}"`);
  const shell = new Shell(folder, `http://127.0.0.1:${port}`);
  for (const page of PAGES) {
    for (const block of await shellBlocks(page)) {
      if (block.notRun !== null) continue;
      const { said, status } = await shell.run(own(block.code));
      expect(`${page}:${block.line} ends with ${status}\n${said}`).toMatch(new RegExp(`ends with ${block.status}\n`));
      expect(`${page}:${block.line}\n${said}`).not.toMatch(/"success":\s*false|\bundefined\b/);
    }
  }
  expect(salesforce.records('Contact').get(carol)?.values).toMatchObject({ LastName: 'Shaw', Plan__c: 'gold' });
});

it('few blocks are not run, each for a reason', async () => {
  const docs = (await readdir(join(PROJECT, 'docs'))).filter((name) => name.endsWith('.md'));
  const pages = ['README.md', ...docs.map((name) => `docs/${name}`)];
  const blocks = (await Promise.all(pages.map((page) => shellBlocks(page)))).flat();
  const left = blocks
    .filter(({ page, notRun }) => notRun === null && !PAGES.includes(page))
    .map(({ page, line }) => `${page}:${line}`);
  expect(left).toEqual([]);
  expect(blocks.filter(({ notRun }) => notRun !== null).length).toBeLessThanOrEqual(MAX_NOT_RUN);
});
