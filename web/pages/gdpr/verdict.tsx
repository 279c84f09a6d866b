/** The signature of a document, checked in this browser against the keys that the server publishes. */
import { useEffect, useState } from 'react';
import type { Tone } from '../../parts/balance.tsx';
import { Chip } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { signatureOf, type SignatureState, verifyDocument } from '../../parts/signed-document.ts';
import { useRead } from '../../session/calls.ts';

const WORDS: Record<SignatureState, [tone: Tone, chip: string, words: string]> = {
  valid: ['ok', 'verified', 'This browser has checked the signature: the document is as Millrace signed it, by'],
  invalid: ['bad', 'changed', 'Do not rely on it: it is not as it was signed by'],
  unknown_key: ['warn', 'unknown key', 'Neither valid nor invalid: this server does not publish the key'],
  unsigned: ['bad', 'not signed', 'It carries no signature of Millrace.'],
  unsupported: ['warn', 'not checked', 'This browser cannot check Ed25519: use `millrace verify`. It names the key'],
};

export type Checked = { state: SignatureState | null; element: React.ReactNode };

/** Checks the document, and returns the state with what to show; null while it is checked. */
export function useVerdict(document: object): Checked {
  const keys = useRead('listSigningKeys', {});
  const [found, setFound] = useState<{ of: object; state: SignatureState } | null>(null);
  const published = keys.data?.keys;
  useEffect(() => {
    if (published === undefined) return undefined;
    let isWanted = true;
    void verifyDocument(document, published).then((state) => {
      if (isWanted) setFound({ of: document, state });
    });
    return () => {
      isWanted = false;
    };
  }, [document, published]);
  const state = found?.of === document ? found.state : null;
  return {
    state,
    element:
      keys.error && state === null ? (
        <Refused refusal={keys.error} retry={() => void keys.refetch()} />
      ) : (
        <Verdict state={state} keyId={signatureOf(document)?.key_id ?? ''} />
      ),
  };
}

function Verdict({ state, keyId }: { state: SignatureState | null; keyId: string }) {
  if (state === null) return <span role="status">Checking the signature</span>;
  const [tone, chip, words] = WORDS[state];
  return (
    <p role="status" className="small second">
      <Chip tone={tone}>
        <Icon name={tone === 'ok' ? 'check' : 'crash'} />
        {chip}
      </Chip>{' '}
      {words} {keyId !== '' && <code className="wraps">{keyId}</code>}
    </p>
  );
}
