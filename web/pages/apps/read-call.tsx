/** A call as it came, beside what the server read of it and, if it was refused, the line to change. */
import { parse, stringify } from '../../../api/client.ts';
import { readingsOf } from '../../../domain/tracking/call-readings.ts';
import type { RefusalCode } from '../../../domain/tracking/call.ts';
import { fixOfRefusal } from '../../../domain/tracking/sdk-line.ts';
import { Icon } from '../../parts/icon.tsx';

export function ReadCall({
  raw,
  receivedAt,
  packageName,
  refused,
}: {
  /** Null for an erased person. */
  raw: string | null;
  receivedAt: string;
  packageName: string;
  refused: { code: RefusalCode; message: string } | null;
}) {
  const call = raw === null ? undefined : parsed(raw);
  return (
    <div className="read-call">
      {refused && <Fix {...refused} call={raw} packageName={packageName} />}
      {raw === null ? (
        <p className="second">It named an erased person: nothing of it was kept but the reason.</p>
      ) : (
        <div className="two">
          <section aria-label="As it came">
            <h3>As it came</h3>
            <pre className="cmd" tabIndex={0}>
              {call === undefined ? raw : stringify(call, 2)}
            </pre>
          </section>
          <section aria-label="As the server read it">
            <h3>As the server read it</h3>
            {call === undefined ? (
              <p className="second">It is cut or no JSON: it cannot be read again here.</p>
            ) : (
              <Readings call={call} receivedAt={receivedAt} refusal={refused?.message ?? null} />
            )}
          </section>
        </div>
      )}
    </div>
  );
}

function parsed(raw: string): unknown {
  try {
    return parse(raw);
  } catch {
    return undefined;
  }
}

function Readings({ call, receivedAt, refusal }: { call: unknown; receivedAt: string; refusal: string | null }) {
  return (
    <dl className="pairs">
      {readingsOf(call, Date.parse(receivedAt), refusal).map(({ field, read, error }) => (
        <div key={field}>
          <dt>{field}</dt>
          <dd>
            {error === null ? (
              read === null ? (
                <span className="quiet">nothing</span>
              ) : (
                <code>{read}</code>
              )
            ) : (
              <b className="wrong">{error}</b>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Fix(refusal: { code: RefusalCode; message: string; call: string | null; packageName: string }) {
  const { says, line } = fixOfRefusal(refusal);
  return (
    <div className="note warn">
      <Icon name="terminal" />
      <div className="tight">
        <b>{says}</b>
        {line && (
          <pre className="cmd" tabIndex={0} role="group" aria-label="The line to change">
            <del>{line.was}</del>
            {'\n'}
            <ins>{line.is}</ins>
          </pre>
        )}
      </div>
    </div>
  );
}
