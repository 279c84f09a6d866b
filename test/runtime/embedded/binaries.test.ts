import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ANSWER_MS, findProgram, type FindOptions, type Program } from '../../../runtime/embedded/binaries.ts';
import { s3Program } from '../../../runtime/embedded/s3.ts';
import { useDataFolder } from '../temporary-folder.ts';

const folder = useDataFolder();
let server: Server;
let asked: string[];
let checksum: string;
let answer: RequestListener;
let host: string;

beforeEach(async () => {
  asked = [];
  server = createServer((request, reply) => {
    asked.push(request.url!);
    answer(request, reply);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const MACHINES = ['linux_amd64', 'linux_arm64', 'darwin_amd64', 'darwin_arm64'];

/** Serves these bytes, whose checksum is the one that is pinned. */
function serve(bytes: Buffer): void {
  checksum = createHash('sha256').update(bytes).digest('hex');
  answer = (_, reply) => reply.end(bytes);
}

function program(): Program {
  return {
    name: 'tool',
    version: '1.2.3',
    versionArguments: ['--version'],
    goModule: 'example.com/tool',
    instead: 'set TOOL_ADDRESS',
    archiveUrl: (system, processor) => `http://${host}/v1.2.3?platform=${system}&arch=${processor}`,
    checksums: Object.fromEntries(MACHINES.map((machine) => [machine, checksum])),
  };
}

/** Looks with these folders as PATH, and tells what was said. */
async function find(
  onPath: string[] = [],
  wanted = program(),
  more: Partial<FindOptions> = {},
): Promise<{ path: string; said: string[] }> {
  const said: string[] = [];
  const path = await findProgram(wanted, {
    say: (line) => said.push(line),
    cacheFolder: cache(),
    path: onPath.join(':'),
    ...more,
  });
  return { path, said };
}

function cache(): string {
  return join(folder.path, 'cache');
}

function putTool(into: string, script = 'echo tool version 1.2.3'): string {
  mkdirSync(into, { recursive: true });
  writeFileSync(join(into, 'tool'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(into, 'tool'), 0o755);
  return into;
}

function archive(script?: string, file = 'tool'): Buffer {
  const made = putTool(mkdtempSync(join(folder.path, 'archive-')), script);
  writeFileSync(join(made, 'LICENSE'), 'free');
  const path = join(made, 'tool.tar.gz');
  execFileSync('tar', ['-czf', path, '-C', made, 'LICENSE', ...(file === 'tool' ? [file] : [])]);
  return readFileSync(path);
}

test('a program on PATH is taken, past one that does not run', async () => {
  const [broken, good] = [putTool(join(folder.path, 'broken'), 'exit 3'), putTool(join(folder.path, 'good'))];
  const { path, said } = await find([join(folder.path, 'empty'), broken, good]);
  expect(path).toBe(join(good, 'tool'));
  expect(said).toEqual([expect.stringMatching(/^tool: on PATH: tool version 1\.2\.3 \(\d+\.\d s\)$/)]);
  expect(asked).toEqual([]);
});

test('a program is downloaded once, for this system, and then comes from the cache', async () => {
  serve(archive());
  const first = await find();
  expect(asked).toEqual([expect.stringMatching(/^\/v1\.2\.3\?platform=(linux|darwin)&arch=(amd64|arm64)$/)]);
  expect(first.path).toBe(join(cache(), 'tool-1.2.3'));
  expect(first.said.map((line) => line.replace(/ \(.*s\)$/, ''))).toEqual([
    'tool: on PATH: not there',
    `tool: in ${cache()}: not there`,
    'tool: 1.2.3 by download …',
    'tool: by download: tool version 1.2.3',
  ]);
  expect((await find()).path).toBe(first.path);
  expect(asked).toHaveLength(1);
  expect(readdirSync(cache())).toEqual(['tool-1.2.3']);
});

test('a program may be in a folder of its archive, named after the system', async () => {
  const made = putTool(join(folder.path, 'archive', 'tool-here'), 'echo; echo "  tool, a tool"');
  const path = join(folder.path, 'tool.tar.gz');
  execFileSync('tar', ['-czf', path, '-C', dirname(made), 'tool-here']);
  serve(readFileSync(path));
  const archiveFolder = (system: string) => (system === process.platform ? 'tool-here' : '');
  expect((await find([], { ...program(), archiveFolder })).said.join('\n')).toContain(
    'tool: by download: tool, a tool',
  );
});

const S3_ARCHIVES: Record<string, string> = {
  linux_amd64: 'versitygw_v1.8.0_Linux_x86_64',
  linux_arm64: 'versitygw_v1.8.0_Linux_arm64',
  darwin_amd64: 'versitygw_v1.8.0_Darwin_x86_64',
  darwin_arm64: 'versitygw_v1.8.0_Darwin_arm64',
};

test('versitygw comes from the archive of its release on a machine without Go, if the archive has the pinned checksum', async () => {
  const name = `${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const release = '/versity/versitygw/releases/download/v1.8.0/';
  for (const [machine, archiveName] of Object.entries(S3_ARCHIVES)) {
    expect(s3Program.archiveUrl(...(machine.split('_') as [string, string]))).toBe(
      `https://github.com${release}${archiveName}.tar.gz`,
    );
    expect(s3Program.checksums[machine]).toMatch(/^[0-9a-f]{64}$/);
  }
  const made = join(folder.path, S3_ARCHIVES[name]!);
  mkdirSync(made);
  writeFileSync(join(made, 'versitygw'), '#!/bin/sh\necho versitygw\n', { mode: 0o755 });
  const path = join(folder.path, 's3.tar.gz');
  execFileSync('tar', ['-czf', path, '-C', folder.path, S3_ARCHIVES[name]!]);
  serve(readFileSync(path));
  const archiveUrl: Program['archiveUrl'] = (...machine) =>
    s3Program.archiveUrl(...machine).replace('https://github.com', `http://${host}`);
  const here: Program = { ...s3Program, archiveUrl };
  await expect(find([], here)).rejects.toThrow(/is not what is pinned[^]*by go install: Go is not installed/);
  const { said } = await find([], { ...here, checksums: { [name]: checksum } });
  expect(said.join('\n')).toContain('versitygw: by download: versitygw (');
  expect(asked).toEqual(Array(2).fill(`${release}${S3_ARCHIVES[name]!}.tar.gz`));
});

test('of several that fill an empty cache at once one downloads, and all end with a program that runs', async () => {
  serve(archive());
  const found = await Promise.all([find(), find(), find()]);
  expect(execFileSync(found[0]!.path, ['--version'], { encoding: 'utf8' })).toBe('tool version 1.2.3\n');
  expect(readdirSync(cache())).toEqual(['tool-1.2.3']);
  expect(asked).toHaveLength(1);
});

test('two processes that start at once build a program once', async () => {
  const built = putTool(join(folder.path, 'built'));
  const go = join(folder.path, 'go-folder');
  const builds = join(folder.path, 'builds');
  mkdirSync(go);
  writeFileSync(
    join(go, 'go'),
    `#!/bin/sh\necho build >> ${builds}\nwhile [ $(ls ${folder.path} | grep -c started) -lt 2 ]; do :; done
cp ${built}/tool "$GOBIN/tool"\n`,
    { mode: 0o755 },
  );
  const start = (name: string) =>
    promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { writeFileSync } from 'node:fs';
       import { findProgram } from ${JSON.stringify(new URL('../../../runtime/embedded/binaries.ts', import.meta.url).href)};
       writeFileSync(${JSON.stringify(join(folder.path, name))}, '');
       const [program, options] = ${JSON.stringify([
         { ...program(), checksums: {}, archiveUrl: undefined },
         { cacheFolder: cache(), path: `${go}:/usr/bin:/bin` },
       ])};
       console.log(await findProgram(program, { ...options, say() {} }));`,
    ]);
  const ends = await Promise.all([start('started-1'), start('started-2')]);
  expect(ends.map(({ stdout }) => stdout)).toEqual(Array(2).fill(`${join(cache(), 'tool-1.2.3')}\n`));
  expect(readFileSync(builds, 'utf8')).toBe('build\n');
  expect(readdirSync(cache())).toEqual(['tool-1.2.3']);
});

test('the lock of a killed process keeps no other from starting', async () => {
  mkdirSync(cache(), { recursive: true });
  const { pid } = spawnSync(process.execPath, ['--eval', 'process.kill(process.pid, "SIGKILL")']);
  writeFileSync(join(cache(), 'tool-1.2.3.lock'), `${hostname()} ${pid}`);
  serve(archive());
  await find();
  expect(readdirSync(cache())).toEqual(['tool-1.2.3']);
});

test('a lock that its owner on another machine has not touched for half a minute is taken over', async () => {
  mkdirSync(cache(), { recursive: true });
  const lock = join(cache(), 'tool-1.2.3.lock');
  writeFileSync(lock, 'elsewhere 1');
  utimesSync(lock, new Date(0), new Date(0));
  serve(archive());
  await find();
  expect(readdirSync(cache())).toEqual(['tool-1.2.3']);
});

test('a program in the cache that does not run any more is got anew', async () => {
  writeFileSync(join(putTool(cache()), 'tool-1.2.3'), 'cut off', { mode: 0o755 });
  serve(archive());
  expect((await find()).said.join('\n')).toContain('by download: tool version 1.2.3');
});

const bad: Record<string, [RequestListener | (() => Buffer), RegExp]> = {
  'an error': [(_, reply) => reply.writeHead(503).end(), /answered 503/],
  'not what is pinned': [
    (_, reply) => reply.end(archive('echo tool, an evil one')),
    /is not what is pinned: its SHA-256 is [0-9a-f]{64}, not 0{64}/,
  ],
  'no archive': [() => Buffer.from('<html>sign in</html>'), /is no archive/],
  'half an archive': [() => archive().subarray(0, 100), /is no archive/],
  'an archive without the program': [() => archive('', 'none'), /holds no tool/],
  'a program that does not run': [() => archive('exit 7'), /does not run \(7\)/],
  'another program': [() => archive('echo something else'), /does not answer as tool/],
  'a broken connection': [
    (_, reply) => {
      reply.writeHead(200, { 'content-length': 1000 }).write('x', () => reply.destroy());
    },
    /broke off \(terminated\)/,
  ],
};

function isBytes(served: RequestListener | (() => Buffer)): served is () => Buffer {
  return served.length === 0;
}

test('without a pinned checksum for this machine nothing is downloaded', async () => {
  await expect(find([], { ...program(), checksums: {} })).rejects.toThrow(
    /by download: no checksum of 1\.2\.3 is pinned for (linux|darwin)_(amd64|arm64), so nothing is downloaded\n/,
  );
  expect(asked).toEqual([]);
});

test.each(Object.entries(bad))(
  'a download that is %s is refused, and go install is tried next',
  async (_, [badAnswer, reason]) => {
    checksum = '0'.repeat(64);
    if (isBytes(badAnswer)) serve(badAnswer());
    else answer = badAnswer;
    const built = putTool(join(folder.path, 'built'));
    const go = join(folder.path, 'go-folder');
    mkdirSync(go);
    // Plays `go install`: refuses anything but what is asked for, and puts the program where it is told to.
    writeFileSync(
      join(go, 'go'),
      `#!/bin/sh
[ "$*" = "install example.com/tool@v1.2.3" ] && [ "$CGO_ENABLED" = 0 ] || exit 1
mv ${built}/tool "$GOBIN/tool"\n`,
      { mode: 0o755 },
    );
    const { path, said } = await find([go, '/usr/bin', '/bin']);
    expect(said.find((line) => line.startsWith('tool: by download: '))).toMatch(reason);
    expect(path).toBe(join(cache(), 'tool-1.2.3'));
    expect(readdirSync(cache())).toEqual(['tool-1.2.3']);
  },
);

test('when there is no way, each is told with its reason, and what to do', async () => {
  await new Promise((resolve) => {
    server.close(resolve);
  });
  const failure = find();
  await expect(failure).rejects.toThrow(/^tool 1\.2\.3 was not to be had:\n/);
  const { message } = (await failure.catch((error: Error) => error)) as Error;
  expect(message.split('\n').slice(1)).toEqual([
    '  on PATH: not there',
    `  in ${cache()}: not there`,
    `  by download: ${host} can't be reached (ECONNREFUSED)`,
    '  by go install: Go is not installed',
    'Install it so that it is on PATH, or install Go, or set TOOL_ADDRESS.',
  ]);
});

test('a server that never answers is given up after five seconds', async () => {
  answer = () => {};
  await expect(find([], program(), { answerMs: 500 })).rejects.toThrow(
    `by download: ${host} does not answer within 0.5 s`,
  );
  expect(ANSWER_MS).toBe(5_000);
});

test('what a killed download left in the cache goes after a day', async () => {
  const [old, recent] = ['unfinished-old', 'unfinished-new'].map((name) => putTool(join(cache(), name)));
  utimesSync(old!, new Date(0), new Date(0));
  serve(archive());
  await find();
  expect(readdirSync(cache()).toSorted()).toEqual(['tool-1.2.3', recent!.split('/').at(-1)]);
});
