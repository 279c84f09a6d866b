/** Uploads of files: sent as an action is, with their progress, which `fetch` does not report. */
import { useMemo, useRef, useState } from 'react';
import { clientBy } from './api.ts';
import { type ActionOptions, useAction } from './calls.ts';

export type Sent = { bytes: number; of: number };

/** Imports a file, or from an address; `sent` says how much of the file has left, `cancel` ends the upload. */
export function useUpload(options: Pick<ActionOptions<'importWithToken'>, 'changes' | 'onDone'> = {}) {
  const [sent, setSent] = useState<Sent | null>(null);
  const abort = useRef(new AbortController());
  const client = useMemo(() => clientBy((url, request) => sendByXhr(url, request, setSent)), []);
  const action = useAction('importWithToken', {
    ...options,
    client,
    signal: () => {
      setSent(null);
      abort.current = new AbortController();
      return abort.current.signal;
    },
  });
  const cancel = (): void => {
    abort.current.abort(new DOMException('canceled', 'AbortError'));
    action.reset();
    setSent(null);
  };
  return { action, sent, cancel };
}

const ANSWERED = ['content-type', 'retry-after'] as const;

function sendByXhr(
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit,
  onSent: (sent: Sent) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open(method, url);
    new Headers(headers).forEach((value, name) => xhr.setRequestHeader(name, value));
    xhr.upload.onprogress = ({ loaded, total }) => onSent({ bytes: loaded, of: total });
    xhr.onload = () => {
      const answered = ANSWERED.flatMap((name): [string, string][] => {
        const value = xhr.getResponseHeader(name);
        return value === null ? [] : [[name, value]];
      });
      resolve(new Response(xhr.responseText, { status: xhr.status, headers: answered }));
    };
    xhr.onerror = () => reject(new TypeError('the upload failed'));
    xhr.onabort = () => reject(signal?.reason as Error);
    signal?.addEventListener('abort', () => xhr.abort());
    xhr.send(body as XMLHttpRequestBodyInit);
  });
}
