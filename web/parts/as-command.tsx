/** The call behind a page, as curl and as `millrace`, with the page of the manual. */
import { stringify } from '../../api/client.ts';
import { operationOf, type OperationName } from '../session/api.ts';
import { Icon } from './icon.tsx';
import { Panel } from './panel.tsx';
import { useCopy } from './values.tsx';

export function AsCommand({
  operation,
  params = {},
  query,
  body,
  form,
  cli,
  manual,
}: {
  operation: OperationName;
  params?: Record<string, string>;
  /** Parameters that the call needs behind its path; values in angle brackets are to be filled in. */
  query?: Record<string, string>;
  body?: unknown;
  /** Fields of a web form; a file as `@name`. */
  form?: Record<string, string>;
  /** Lines of the command line; none where it has no such command. */
  cli?: readonly string[];
  /** Page of the manual, without `.md`. */
  manual: string;
}) {
  const curl = curlOf(operation, params, query, body, form);
  return (
    <Panel title="As a command" end={<CopyButton text={[...(cli ?? []), curl].join('\n')} />}>
      <div className="body">
        {cli && (
          <pre className="cmd" tabIndex={0}>
            {cli.join('\n')}
          </pre>
        )}
        <pre className="cmd" tabIndex={0} role="group" aria-label="The same by HTTP">
          <span className="c"># by HTTP</span>
          {'\n'}
          {curl}
        </pre>
        <p className="small quiet">
          <a href={`/manual/${manual}.md`}>In the manual</a>
        </p>
      </div>
    </Panel>
  );
}

/** Returns a call by curl; the token comes from the environment. */
function curlOf(
  name: OperationName,
  params: Record<string, string>,
  query: Record<string, string> | undefined,
  body: unknown,
  form: Record<string, string> = {},
): string {
  const { method, path } = operationOf(name);
  const address = path.replaceAll(/:(\w+)/g, (whole, key: string) =>
    params[key] === undefined ? whole : encodeURIComponent(params[key]),
  );
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$MILLRACE_URL${address}${searchOf(query)}"`,
    `-H "Authorization: Token $MILLRACE_TOKEN"`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d ${quoted(stringify(body))}`]),
    ...Object.entries(form).map(([field, value]) => `-F ${quoted(`${field}=${value}`)}`),
  ].join(' \\\n  ');
}

const searchOf = (query: Record<string, string> = {}): string =>
  Object.entries(query)
    .map(
      ([name, value], nth) =>
        `${nth === 0 ? '?' : '&'}${name}=${/^<[a-z ]+>$/.test(value) ? value : encodeURIComponent(value)}`,
    )
    .join('');

/** Returns a text as one word of a shell. */
export const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;

export function CopyButton({ text }: { text: string }) {
  const [isCopied, copy] = useCopy(text);
  return (
    <button type="button" className="btn plain" onClick={copy}>
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  );
}
