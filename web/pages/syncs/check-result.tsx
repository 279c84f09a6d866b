import type { ConnectionCheck } from '../../../api/client.ts';
import { Icon } from '../../parts/icon.tsx';
import { isOutside, OutsideFault } from '../../parts/outside.tsx';
import { When } from '../../parts/values.tsx';

/** Says whether a connection worked when it was checked, or what the outside system said. */
export function CheckResult({ check, at }: { check: ConnectionCheck; at?: number }) {
  const { ok, message, status, retry_after } = check;
  return (
    <p className={`note ${ok ? 'ok' : 'bad'}`} role="status">
      <Icon name={ok ? 'check' : 'crash'} />
      <span>
        {ok ? (
          <b>It works.</b>
        ) : isOutside(status) ? (
          <OutsideFault status={status}>{message}</OutsideFault>
        ) : (
          <b>{message}</b>
        )}{' '}
        {!ok && <code>{status}</code>}
        {retry_after !== undefined && ` Wait ${retry_after} s before the next try.`}
        {at !== undefined && (
          <>
            {' '}
            Checked <When at={at} />.
          </>
        )}
      </span>
    </p>
  );
}
