import { type DestinationStream, type Logger, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { internalErrorOf } from '../../domain/core/internal-error.ts';

type LogOptions = { level: string; format?: 'json' | 'text'; destination?: DestinationStream };

const SECRETS = ['authorization', 'cookie', 'headers', 'api_key', 'apiKey', 'password', 'secret', 'token', 'userToken'];

/** Creates a log of JSON lines or text. Redacts fields for secrets, and reduces errors to class, code and frames. */
export function createLog({
  level,
  format = 'json',
  destination = pino.destination({ sync: true }),
}: LogOptions): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: internalErrorOf },
      hooks: {
        // Without a message pino takes the error's, which may quote values.
        logMethod(args, method) {
          const [fields, message, ...rest] = args as [object | string, string?, ...unknown[]];
          if (typeof fields === 'object' && message === undefined) method.call(this, fields, '');
          else method.call(this, fields as object, message, ...rest);
        },
      },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '(struck out)' },
    },
    format === 'json' ? destination : asText(destination),
  );
}

function asText(destination: DestinationStream): DestinationStream {
  const toText = prettyFactory({ translateTime: 'SYS:HH:MM:ss', singleLine: true, colorize: false });
  return { write: (line) => destination.write(toText(line)) };
}
