/** The check of a file with receipts, deletion lists or a manifest: it stays in this browser. */
import { useId, useState } from 'react';
import type { GdprReceipt } from '../../../domain/gdpr/gdpr-receipt.ts';
import { Panel } from '../../parts/panel.tsx';
import { Receipt } from './receipt-list.tsx';
import { useVerdict } from './verdict.tsx';

type Read = { name: string; documents: readonly object[] | null };

export function CheckFile() {
  const field = useId();
  const [read, setRead] = useState<Read | null>(null);
  const open = async (file: File | undefined): Promise<void> => {
    setRead(file === undefined ? null : { name: file.name, documents: documentsIn(await file.text()) });
  };
  return (
    <Panel title="Check a file">
      <div className="body">
        <div className="field">
          <label htmlFor={field}>Receipt, deletion list or manifest (JSON)</label>
          <input
            className="input"
            id={field}
            type="file"
            accept=".json,application/json"
            aria-describedby={`${field}-hint`}
            onChange={({ target }) => void open(target.files?.[0])}
          />
          <span className="hint" id={`${field}-hint`}>
            It is checked here, against the keys that this server publishes. It is sent nowhere.
          </span>
        </div>
        {read?.documents === null && <p className="note bad">{read.name} holds no signed document.</p>}
      </div>
      {read?.documents?.map((document, index) => (
        <CheckedDocument key={`${read.name} ${index}`} document={document} />
      ))}
    </Panel>
  );
}

/** Shows what a document says only if the signature is sound. */
function CheckedDocument({ document }: { document: object }) {
  const { state, element } = useVerdict(document);
  if (state === 'valid' && isReceipt(document)) return <Receipt receipt={document} />;
  const { receipt, list, run } = document as Record<string, unknown>;
  const name = [receipt, list, run].find((each) => typeof each === 'string');
  return (
    <article className="body receipt">
      {typeof name === 'string' && <h3>{name}</h3>}
      {element}
    </article>
  );
}

/** Returns whether a document that Millrace signed is a receipt: then its form is as Millrace writes it. */
function isReceipt(document: object): document is GdprReceipt {
  return 'receipt' in document && 'subjects' in document && 'places' in document;
}

/** Returns the documents of a file: one, or those of an answer. Null if there is none. */
function documentsIn(text: string): object[] | null {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return null;
    const { result = parsed } = parsed as { result?: object };
    const { receipts, items = receipts } = result as { receipts?: unknown; items?: unknown };
    if (items === undefined) return [result];
    const documents = Array.isArray(items) ? items.filter((item) => typeof item === 'object' && item !== null) : [];
    return documents.length === 0 ? null : (documents as object[]);
  } catch {
    return null;
  }
}
