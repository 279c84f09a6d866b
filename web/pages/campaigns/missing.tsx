/** The list of what a draft lacks before it can be launched: each line leads to its field. */
import type { CampaignDetails } from '../../../api/client.ts';
import type { FieldError } from '../../../domain/core/refusal.ts';
import { Icon } from '../../parts/icon.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useEdit } from './edit.tsx';
import { placeOf, sayError } from './fields.ts';

export function MissingPanel({
  errors,
  stored,
  children,
}: {
  errors: readonly FieldError[];
  stored: CampaignDetails | null;
  /** More that speaks for or against a launch. */
  children?: React.ReactNode;
}) {
  const { draft } = useEdit();
  const leadTo = useLeadTo();
  const warnings = stored?.warnings ?? [];
  return (
    <Panel title="Before the launch">
      <div className="body">
        <ul className="checks" aria-label="What is missing">
          {errors.map((error) => (
            <li key={`${error.element} ${error.message}`} className="bad">
              <Icon name="crash" />
              <button type="button" className="link" onClick={() => leadTo(error.element)}>
                {sayError(error, draft)}
              </button>
            </li>
          ))}
          {errors.length === 0 && (
            <li className="ok">
              <Icon name="check" />
              <span>Nothing is missing.</span>
            </li>
          )}
          {errors.length === 0 &&
            warnings.map(({ element, message }) => (
              <li key={`${element} ${message}`} className="warn">
                <Icon name="crash" />
                <span>Its texts {message}.</span>
              </li>
            ))}
          {children}
        </ul>
      </div>
    </Panel>
  );
}

/** Returns what shows the field of an element, and puts the cursor into it. */
function useLeadTo(): (element: string) => void {
  const { setVariant, setChannel } = useEdit();
  return (element) => {
    const { field, variant, channel } = placeOf(element);
    if (channel !== undefined || variant !== null) setVariant(variant);
    if (channel !== undefined) setChannel(channel);
    // The field may appear with what was set just now.
    requestAnimationFrame(() => {
      const named = document.querySelector<HTMLElement>(`main [name="${CSS.escape(field)}"]`);
      const part = named ?? document.getElementById(field);
      part?.closest('details')?.setAttribute('open', '');
      part?.scrollIntoView({ block: 'center' });
      part?.focus();
    });
  };
}
