import { type Right, RIGHTS } from '../../../domain/accounts/rights.ts';
import { useSession } from '../../session/session.tsx';

/** Offers all rights: the person gives and takes only those that they have. */
export function RightsField({
  enable,
  onChange,
}: {
  enable: Partial<Record<Right, boolean>>;
  onChange: (enable: Record<Right, boolean>) => void;
}) {
  const { session } = useSession();
  return (
    <fieldset className="rights">
      <legend>Rights</legend>
      {RIGHTS.map((right) => (
        <label
          key={right}
          title={session.enable[right] ? undefined : 'You lack it, so you can neither give nor take it'}
        >
          <input
            type="checkbox"
            checked={enable[right] ?? false}
            disabled={!session.enable[right]}
            onChange={({ target }) => onChange({ ...enable, [right]: target.checked } as Record<Right, boolean>)}
          />{' '}
          {right}
        </label>
      ))}
    </fieldset>
  );
}
