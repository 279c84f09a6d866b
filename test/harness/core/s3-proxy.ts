import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request as send, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { PassThrough, Transform } from 'node:stream';
import { onFileEnd } from './clean-up.ts';

export type S3Operation =
  | 'PutObject'
  | 'UploadPart'
  | 'CreateMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'AbortMultipartUpload'
  | 'GetObject'
  | 'HeadObject'
  | 'ListObjects'
  | 'ListMultipartUploads'
  | 'DeleteObject'
  | 'DeleteObjects'
  | 'other';

/**
 * A request as the proxy saw it; `part` is 0 where it is none of a part; `hash` is what it is signed with in place of
 * its body.
 */
export type S3Asked = {
  operation: S3Operation;
  bucket: string;
  key: string;
  part: number;
  token: string | undefined;
  hash: string;
};

/** Which requests: all that fit everything given. */
export type S3Match = { operation?: S3Operation | S3Operation[]; key?: RegExp; part?: number };

/** What happens to a request, by itself or after it was passed on. */
type S3Fault = (request: IncomingMessage, response: ServerResponse, pass: Pass) => Promise<void>;
/** On to the S3, through what changes the body. */
type Pass = (through?: Transform) => Promise<Passed>;
type Passed = { status: number; headers: Record<string, string | string[]>; body: Buffer };

export type S3Proxy = {
  /** To be used with the path style, as the address of the S3. */
  endpoint: string;
  /** In the order they came. */
  asked: S3Asked[];
  count(match?: S3Match): number;
  /** Has the next `times` requests that match meet the fault; the earlier of two that match comes first. */
  meet(match: S3Match, fault: S3Fault, times?: number): void;
  /** Holds the next request that matches until it is released; `reached` is when it has come. */
  hold(match: S3Match): { reached: Promise<S3Asked>; release(): void };
  /**
   * Answers ExpiredToken to those whose session token is not good; undefined: they have none. The S3 knows no sessions:
   * with `secret`, the requests go on to it signed without their token.
   */
  checkTokens(isGood: (token: string | undefined) => boolean, secret?: string): void;
  /** Forgets faults that were not met yet. */
  clear(): void;
};

type Rule = { match: S3Match; fault: S3Fault; left: number };

/**
 * Stands before a real S3, passes everything on, and fails where it is told to. The signature holds, since the Host
 * header is passed on as it was signed. Ends with the test file.
 */
export async function s3Proxy(target: string, { tls }: { tls?: { key: string; cert: string } } = {}): Promise<S3Proxy> {
  const asked: S3Asked[] = [];
  let rules: Rule[] = [];
  let isGood: (token: string | undefined) => boolean = () => true;
  let secretOfSessions: string | undefined;
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const one = read(request);
    asked.push(one);
    const pass: Pass = (through) => passOn(target, request, { through, secretOfSessions });
    const { socket } = request;
    const rule = rules.find(({ match, left }) => left > 0 && fits(match, one));
    if (rule) rule.left -= 1;
    const fault = rule?.fault ?? (isGood(one.token) ? passed : EXPIRED_TOKEN);
    // Of a connection that broke there is nobody to tell.
    fault(request, response, pass).catch(() => socket.destroy());
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return {
    endpoint: `${tls ? 'https://localhost' : 'http://127.0.0.1'}:${(server.address() as AddressInfo).port}`,
    asked,
    count: (match = {}) => asked.filter((one) => fits(match, one)).length,
    meet(match, fault, times = 1) {
      rules.push({ match, fault, left: times });
    },
    hold(match) {
      const [reached, released] = [Promise.withResolvers<S3Asked>(), Promise.withResolvers<void>()];
      const fault: S3Fault = async (request, response, pass) => {
        reached.resolve(read(request));
        await released.promise;
        await passed(request, response, pass);
      };
      rules.push({ match, fault, left: 1 });
      return { reached: reached.promise, release: () => released.resolve() };
    },
    checkTokens(check, secret) {
      isGood = check;
      secretOfSessions = secret;
    },
    clear() {
      rules = [];
    },
  };
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** Refuses as S3 does. */
export function s3Error(
  status: number,
  code: string,
  message = `${code} it is`,
  headers: Record<string, string> = {},
): S3Fault {
  return async (request, response) => {
    request.resume();
    await once(request, 'end');
    const body = `${XML}<Error><Code>${code}</Code><Message>${message}</Message><RequestId>4442587FB7D0A2F9</RequestId></Error>`;
    response
      .writeHead(status, { 'content-type': 'application/xml', ...headers })
      .end(request.method === 'HEAD' ? undefined : body);
  };
}

/** Passes on requests that have the header, with that value if one is given; the others meet the fault. */
export const unlessHeader =
  (name: string, value: string | null, fault: S3Fault): S3Fault =>
  (request, ...rest) => {
    const given = request.headers[name];
    return (given !== undefined && (value === null || given === value) ? passed : fault)(request, ...rest);
  };

/** Answers with 200 and this. */
export function s3Answer(xml: string): S3Fault {
  return async (request, response) => {
    request.resume();
    await once(request, 'end');
    response.writeHead(200, { 'content-type': 'application/xml' }).end(`${XML}${xml}`);
  };
}

const EXPIRED_TOKEN = s3Error(400, 'ExpiredToken', 'The provided token has expired.');

export const SLOW_DOWN = s3Error(503, 'SlowDown', 'Please reduce your request rate.');

/** Breaks the connection after so many bytes of the request's body. */
export const breakAfter =
  (bytes: number): S3Fault =>
  async (request) => {
    const { socket } = request;
    let left = bytes;
    request.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left <= 0) socket.destroy();
    });
  };

/** Takes no more of the request than is on its way already, and says nothing. */
export const stall: S3Fault = async (request) => {
  request.pause();
};

/** Takes the whole request and says nothing. */
export const silence: S3Fault = async (request) => {
  request.resume();
};

/** Passes the request on with its first byte changed. */
export const damage: S3Fault = (request, response, pass) => {
  let isFirst = true;
  const through = new Transform({
    transform(chunk: Buffer, _, done) {
      const copy = Buffer.from(chunk);
      if (isFirst) copy[0]! ^= 1;
      isFirst = false;
      done(null, copy);
    },
  });
  return passed(request, response, () => pass(through));
};

/** Passes the request on, and breaks the connection when the answer is there. */
export const loseAnswer: S3Fault = async (request, _, pass) => {
  await pass();
  request.socket.destroy();
};

/** Breaks the connection after so many bytes of the answer. */
export const breakAnswer =
  (bytes: number): S3Fault =>
  async (request, response, pass) => {
    const { status, headers, body } = await pass();
    response.writeHead(status, headers);
    response.write(body.subarray(0, bytes), () => request.socket.destroy());
  };

const passed: S3Fault = async (request, response, pass) => {
  const { status, headers, body } = await pass();
  response.writeHead(status, headers);
  response.end(request.method === 'HEAD' ? undefined : body);
};

const OF_THE_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding']);

type PassOptions = { through?: Transform | undefined; secretOfSessions: string | undefined };

function passOn(
  target: string,
  request: IncomingMessage,
  { through = new PassThrough(), secretOfSessions }: PassOptions,
): Promise<Passed> {
  const { hostname, port } = new URL(target);
  const { method, url: path } = request;
  const isOfSession = request.headers[TOKEN] !== undefined && secretOfSessions !== undefined;
  const headers = isOfSession ? signedWithoutToken(request, secretOfSessions) : request.rawHeaders;
  const onward = send({ hostname, port, method, path, headers, setHost: false, agent: false });
  // Who asked has gone: what was passed on ends where it is, as with a real S3.
  request.on('close', () => {
    if (!request.complete) onward.destroy(new Error('gone'));
  });
  request.pipe(through).pipe(onward);
  return new Promise((resolve, reject) => {
    onward.on('error', reject).on('response', (answer) => {
      const chunks: Buffer[] = [];
      answer
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('error', reject)
        .on('end', () => {
          const headers = Object.entries(answer.headers as Passed['headers']).filter(([name]) => !OF_THE_HOP.has(name));
          resolve({ status: answer.statusCode!, headers: Object.fromEntries(headers), body: Buffer.concat(chunks) });
        });
    });
  });
}

const TOKEN = 'x-amz-security-token';

/** The headers of a request, signed anew without the token of its session (AWS Signature Version 4). */
function signedWithoutToken({ method = '', url = '', headers, rawHeaders }: IncomingMessage, secret: string): string[] {
  const [, key, scope, names] = /Credential=([^/]+)\/([^,]+), *SignedHeaders=([^,]+)/.exec(headers.authorization!)!;
  const signed = names!.split(';').filter((name) => name !== TOKEN);
  const [path = '', query = ''] = url.split('?');
  const parameters = query
    .split('&')
    .filter(Boolean)
    .map((pair) => (pair.includes('=') ? pair : `${pair}=`))
    .toSorted()
    .join('&');
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('');
  const canonical = [method, path, parameters, lines, signed.join(';'), headers['x-amz-content-sha256']].join('\n');
  const hash = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash].join('\n');
  const hmac = (by: string | Buffer, data: string) => createHmac('sha256', by).update(data).digest();
  const signature = hmac(scope!.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`) as Buffer, text).toString(
    'hex',
  );
  const authorization = `AWS4-HMAC-SHA256 Credential=${key}/${scope}, SignedHeaders=${signed.join(';')}, Signature=${signature}`;
  return rawHeaders.flatMap((name, at) => {
    if (at % 2 === 1 || name.toLowerCase() === TOKEN) return [];
    return [name, name.toLowerCase() === 'authorization' ? authorization : rawHeaders[at + 1]!];
  });
}

function read({ method = '', url = '', headers }: IncomingMessage): S3Asked {
  const { pathname, searchParams } = new URL(url, 'http://s3');
  const [, bucket = '', ...key] = pathname.split('/');
  return {
    operation: operationOf(method, key.join('/') !== '', searchParams),
    bucket,
    key: decodeURIComponent(key.join('/')),
    part: Number(searchParams.get('partNumber') ?? 0),
    token: headers[TOKEN] as string | undefined,
    hash: headers['x-amz-content-sha256'] as string,
  };
}

function operationOf(method: string, isOfFile: boolean, query: URLSearchParams): S3Operation {
  if (!isOfFile) {
    if (method === 'POST' && query.has('delete')) return 'DeleteObjects';
    return method !== 'GET' ? 'other' : query.has('uploads') ? 'ListMultipartUploads' : 'ListObjects';
  }
  const isOfUpload = query.has('uploadId');
  const operations: Record<string, S3Operation> = {
    PUT: isOfUpload ? 'UploadPart' : 'PutObject',
    POST: isOfUpload ? 'CompleteMultipartUpload' : 'CreateMultipartUpload',
    DELETE: isOfUpload ? 'AbortMultipartUpload' : 'DeleteObject',
    GET: 'GetObject',
    HEAD: 'HeadObject',
  };
  return operations[method] ?? 'other';
}

function fits({ operation, key, part }: S3Match, one: S3Asked): boolean {
  return (
    (operation === undefined || [operation].flat().includes(one.operation)) &&
    (key === undefined || key.test(one.key)) &&
    (part === undefined || part === one.part)
  );
}
