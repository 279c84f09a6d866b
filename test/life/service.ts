import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { lockDataFolder, openDataFolder } from '../../runtime/embedded/data-folder.ts';
import { rememberedPort } from '../../runtime/embedded/ports.ts';
import { startPostgres } from '../../runtime/embedded/postgres.ts';
import type { ProcessIdentity } from '../../runtime/embedded/children.ts';
import { type EmbeddedS3, startS3 } from '../../runtime/embedded/s3.ts';
import { startTemporal, temporalDatabase } from '../../runtime/embedded/temporal.ts';
import { BUNDLES } from '../harness/core/bundles.ts';
import { nodeFlags } from '../harness/core/node-flags.ts';
import { programEnv } from '../harness/core/program-env.ts';
import { TEMPORAL } from '../harness/core/temporal-settings.ts';

/**
 * The real service of a walk: its parts as processes of their own over one data folder, which can be killed and started
 * again.
 */

type Embedded = { stop(): Promise<void> };
type Program = 'serve' | 'work';
export type Part = Program | 'postgres' | 'temporal';
const PARTS: readonly Part[] = ['postgres', 'temporal', 'work', 'serve'];

export type ServiceOptions = { dataDir: string; say(line: string): void };
type S3Keys = { accessKeyId: string; secretAccessKey: string };

const DATABASE = 'millrace';
export const ADMIN = { email: 'admin@millrace.local', password: 'the walks own password' };
const NAMESPACE = 'life';
const READY_WITHIN_MS = 120_000;
/**
 * How long after a part is back requests may still be refused: connections are made anew, and a busy machine is slow.
 */
const GRACE_MS = 20_000;
const POSTGRES = { shared_buffers: '128MB' };
const LOGGED_WITHIN_MS = 100;
/** How many times a killed Postgres is started: its last processes may still hold its memory and its port. */
const POSTGRES_TRIES = 60;

/** Another program has taken the port of a part while it was away: the walk cannot go on. */
class OtherPort extends Error {
  override readonly message = 'another program has taken the port of a killed part';
}

export class LifeService {
  readonly dataDir: string;
  readonly url: string;
  readonly s3: EmbeddedS3 & S3Keys;
  readonly #say: (line: string) => void;
  readonly #port: number;
  readonly secretKey = randomBytes(32);
  readonly #unlock: () => void;
  readonly #embedded = new Map<Part, Embedded>();
  readonly #programs = new Map<Part, ChildProcess>();
  readonly #outages: { part: Part; from: number; to: number }[] = [];
  #adminUrl = '';
  #temporalAddress = '';

  private constructor({ dataDir, say }: ServiceOptions, port: number, s3: EmbeddedS3 & S3Keys, unlock: () => void) {
    this.dataDir = dataDir;
    this.s3 = s3;
    this.#say = say;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.#unlock = unlock;
  }

  /** Starts all parts in a new data folder. */
  static async start(options: ServiceOptions): Promise<LifeService> {
    const { dataDir, say } = options;
    await openDataFolder(dataDir);
    const unlock = lockDataFolder(dataDir);
    mkdirSync(BUNDLES, { recursive: true });
    if (!existsSync(join(dataDir, 'cache'))) symlinkSync(BUNDLES, join(dataDir, 'cache'));
    const keys = { accessKeyId: randomBytes(8).toString('hex'), secretAccessKey: randomBytes(20).toString('hex') };
    const s3 = await startS3({ dataDir, say, ...keys });
    const service = new LifeService(options, await rememberedPort(dataDir, 'http', say), { ...s3, ...keys }, unlock);
    process.on('exit', service.#killAll);
    await service.begin('postgres');
    await service.#asAdmin(`CREATE DATABASE ${DATABASE}`);
    for (const part of ['temporal', 'serve', 'work'] as const) await service.begin(part);
    await service.ready();
    return service;
  }

  get databaseUrl(): string {
    return this.databaseNamed(DATABASE);
  }

  databaseNamed(name: string): string {
    const url = new URL(this.#adminUrl);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** The file in which Temporal keeps everything. */
  get temporalFile(): string {
    return temporalDatabase(this.dataDir);
  }

  /** Whether a part was away at some time between the two, or came back a moment before. */
  wasBroken(from: number, to: number): boolean {
    return this.#outages.some((outage) => outage.from <= to && outage.to + GRACE_MS >= from);
  }

  /** Starts a part that is not there. */
  async begin(part: Part): Promise<void> {
    if (part === 'postgres') await this.#beginPostgres();
    else if (part === 'temporal') await this.#beginTemporal();
    else this.#beginProgram(part);
    for (const outage of this.#outages) if (outage.part === part && outage.to === Infinity) outage.to = Date.now();
  }

  /** SIGKILL to the processes of these parts, at once. */
  async kill(parts: readonly Part[]): Promise<void> {
    for (const part of parts) this.#noteOutage(part);
    const pids = parts.map((part) => this.#programs.get(part)?.pid ?? childOf(this.dataDir, part)?.pid);
    for (const pid of pids) if (pid !== undefined) process.kill(pid, 'SIGKILL');
    for (const part of parts) {
      const program = this.#programs.get(part);
      if (program && program.exitCode === null && program.signalCode === null) await once(program, 'exit');
      await this.#embedded.get(part)?.stop();
      this.#programs.delete(part);
      this.#embedded.delete(part);
    }
  }

  /** Ends parts in good order. */
  async end(parts: readonly Part[]): Promise<void> {
    for (const part of parts) this.#noteOutage(part);
    const programs = parts.flatMap((part) => this.#programs.get(part) ?? []);
    await Promise.all(
      programs.map(async (program) => {
        if (program.exitCode !== null || program.signalCode !== null) return;
        program.kill('SIGTERM');
        await once(program, 'exit');
      }),
    );
    for (const part of [...parts].toReversed()) {
      await this.#embedded.get(part)?.stop();
      this.#programs.delete(part);
      this.#embedded.delete(part);
    }
  }

  /** Waits until the server and all else is there. */
  async ready(): Promise<void> {
    const until = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const answer = await fetch(`${this.url}/health/ready?parts=all`).then(
        (reply) => reply.status,
        () => 0,
      );
      if (answer === 200) return;
      if (Date.now() > until) throw new Error(`the service is not ready after ${READY_WITHIN_MS / 1_000} s: ${answer}`);
      await delay(200);
    }
  }

  /** What the server's log says of a request that failed; null if it says nothing. */
  async causeOf(requestId: string): Promise<{ error: string; logged: string } | null> {
    await delay(LOGGED_WITHIN_MS);
    const log = await readFile(join(this.dataDir, 'serve.log'), 'utf8');
    const logged = log.split('\n').find((line) => line.includes(requestId) && line.includes('"error"'));
    if (logged === undefined) return null;
    return { error: nameOfError((JSON.parse(logged) as { error: LoggedError }).error), logged };
  }

  /**
   * The errors that server and worker logged while all parts were there, and the programs that have ended by
   * themselves.
   */
  async faults(): Promise<{ what: string; details: string }[]> {
    const faults = [...this.#programs]
      .filter(([, { exitCode, signalCode }]) => exitCode !== null || signalCode !== null)
      .map(([part, { exitCode, signalCode }]) => ({
        what: `${part} ended by itself`,
        details: String(exitCode ?? signalCode),
      }));
    for (const program of ['serve', 'work']) {
      const log = await readFile(join(this.dataDir, `${program}.log`), 'utf8');
      for (const line of log.split('\n').filter((each) => each.startsWith('{"level":"error"'))) {
        const { time, msg, error } = JSON.parse(line) as { time: string; msg: string; error?: LoggedError };
        if (this.wasBroken(Date.parse(time), Date.parse(time))) continue;
        faults.push({ what: `logged by ${program}: ${msg}: ${error ? nameOfError(error) : ''}`, details: line });
      }
    }
    return faults;
  }

  /** Copies the database as it is, while server and worker are ended. */
  async copyDatabase(name: string): Promise<void> {
    await this.#asAdmin(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${DATABASE}'`);
    await this.#asAdmin(`CREATE DATABASE ${name} TEMPLATE ${DATABASE}`);
  }

  /** Puts a copy in the place of the database, while server and worker are ended. */
  async restoreDatabase(name: string): Promise<void> {
    await this.#asAdmin(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${DATABASE}'`);
    await this.#asAdmin(`ALTER DATABASE ${DATABASE} RENAME TO ${DATABASE}_lost`);
    await this.#asAdmin(`ALTER DATABASE ${name} RENAME TO ${DATABASE}`);
  }

  async createDatabase(name: string): Promise<string> {
    await this.#asAdmin(`CREATE DATABASE ${name}`);
    return this.databaseNamed(name);
  }

  async stop(): Promise<void> {
    await this.end(PARTS);
    await this.s3.stop();
    process.off('exit', this.#killAll);
    this.#unlock();
  }

  /** Leaves no process behind where the walk itself is ended. */
  readonly #killAll = (): void => {
    const pids = [...this.#programs.values()].map(({ pid }) => pid);
    for (const part of ['postgres', 'temporal', 's3']) pids.push(childOf(this.dataDir, part)?.pid);
    for (const pid of pids) if (pid !== undefined) process.kill(pid, 'SIGKILL');
  };

  #noteOutage(part: Part): void {
    this.#outages.push({ part, from: Date.now(), to: Infinity });
  }

  async #beginPostgres(): Promise<void> {
    await this.#untilFree(this.#adminUrl);
    for (let tries = 1; ; tries += 1) {
      try {
        const { url, ...child } = await startPostgres({ dataDir: this.dataDir, say: this.#say, settings: POSTGRES });
        this.#embedded.set('postgres', child);
        if (this.#adminUrl !== '' && url !== this.#adminUrl) throw new OtherPort();
        this.#adminUrl = url;
        return;
      } catch (error) {
        if (error instanceof OtherPort) throw error;
        if (tries === POSTGRES_TRIES) throw error;
        await delay(500);
      }
    }
  }

  async #beginTemporal(): Promise<void> {
    await this.#untilFree(this.#temporalAddress === '' ? '' : `tcp://${this.#temporalAddress}`);
    const options = { dataDir: this.dataDir, say: this.#say, headless: true, namespace: NAMESPACE, settings: TEMPORAL };
    const { address, ...child } = await startTemporal(options);
    this.#embedded.set('temporal', child);
    if (this.#temporalAddress !== '' && address !== this.#temporalAddress) throw new OtherPort();
    this.#temporalAddress = address;
  }

  /**
   * Server and worker are told once where their parts are: waits until the last process of a killed one lets go of its
   * port.
   */
  async #untilFree(url: string): Promise<void> {
    if (url === '') return;
    const port = Number(new URL(url).port);
    const until = Date.now() + READY_WITHIN_MS;
    while (!(await isFree(port)) && Date.now() < until) await delay(100);
  }

  #beginProgram(part: Program): void {
    const child = spawn(
      process.execPath,
      [...nodeFlags(part), fileURLToPath(new URL(`../../runtime/${part}.ts`, import.meta.url))],
      {
        env: {
          ...programEnv(),
          PORT: String(this.#port),
          MILLRACE_DATA_DIR: this.dataDir,
          MILLRACE_PUBLIC_URL: this.url,
          DATABASE_URL: this.databaseUrl,
          TEMPORAL_ADDRESS: this.#temporalAddress,
          TEMPORAL_NAMESPACE: NAMESPACE,
          MILLRACE_FILES: `file:${join(this.dataDir, 'files')}`,
          MILLRACE_SECRET_KEY: this.secretKey.toString('base64'),
          MILLRACE_ADMIN_EMAIL: ADMIN.email,
          MILLRACE_ADMIN_PASSWORD: ADMIN.password,
          MILLRACE_FETCH_ALLOW: '127.0.0.1',
          MILLRACE_RATE_LIMIT: '0',
          MILLRACE_PATIENCE_MINUTES: '2',
          MILLRACE_STEP_DEATHS: '1000',
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const log = createWriteStream(join(this.dataDir, `${part}.log`), { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
    child.once('close', () => log.end());
    this.#programs.set(part, child);
  }

  async #asAdmin(statement: string): Promise<void> {
    const admin = new pg.Client({ connectionString: this.#adminUrl });
    await admin.connect();
    try {
      await admin.query(statement);
    } finally {
      await admin.end();
    }
  }
}

type LoggedError = { errorClass: string; code?: string; frames?: string[] };

/** What an error is, and where in our code it came from. */
function nameOfError({ errorClass, code = '', frames = [] }: LoggedError): string {
  const frame = frames.find((each) => !each.includes('node_modules') && each.includes('file:///')) ?? '';
  return `${errorClass} ${code} ${frame.replace(/\(?file:\/\/.*?\/(?=(?:store|server|api|domain|connectors|runtime|activities)\/)/, '')}`;
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** The process of an embedded part, as its record in the data folder names it. */
function childOf(dataDir: string, part: string): ProcessIdentity | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, `child.${part}.json`), 'utf8')) as ProcessIdentity;
  } catch {
    return null;
  }
}
