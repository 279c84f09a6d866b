/** A stored funnel: counted, with its definition, which stays; a copy can be changed. */
import { Link, useParams } from '@tanstack/react-router';
import type { Funnel } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';
import { FunnelChip } from './funnels.tsx';
import { FunnelView } from './funnel-view.tsx';
import { useWithin } from './use-counts.ts';
import { stepName, wholeDurationText } from './words.ts';

const WITHIN = { title: 'Funnels', to: '/funnels' };

export function FunnelPage() {
  const { id = '' } = useParams({ strict: false });
  const read = useRead('viewFunnel', { params: { identifier: id } });
  return (
    <Shown result={read} head={<Head title="Funnel" within={{ ...WITHIN, name: id }} />}>
      {(funnel) => <Stored key={funnel.identifier} funnel={funnel} />}
    </Shown>
  );
}

function Stored({ funnel }: { funnel: Funnel }) {
  const { identifier, name, description, max_duration: seconds, steps, archived } = funnel;
  const { may } = useSession();
  const within = useWithin(seconds);
  const app = steps[0]!.match_name[0]!.app_id;
  return (
    <>
      <Head
        title={name}
        within={{ ...WITHIN, name: identifier }}
        state={<FunnelChip isArchived={archived} />}
        actions={
          <>
            {may('createFunnel') && (
              <Link
                className="btn"
                to="/funnels/new"
                search={{ copy: identifier, ...(within === seconds ? {} : { within }) }}
              >
                <Icon name="copy" />
                Edit as a copy
              </Link>
            )}
            <ArchiveButton funnel={funnel} />
          </>
        }
        facts={
          <>
            {description !== null && <span>{description}</span>}
            <span>
              within <b>{wholeDurationText(seconds)}</b> of the first step
            </span>
          </>
        }
      />
      <FunnelView funnel={{ max_duration: within, steps }} stored={{ identifier, within: seconds }} />
      <Definition funnel={funnel} />
      <AsCommand
        operation="quickFunnelStats"
        {...(within === seconds && {
          cli: [
            `millrace funnels count ${identifier} --fast`,
            `millrace funnels people ${identifier} --step 1 --dropped --fast`,
            `millrace funnels explore ${identifier} --after 0 --dropped --fast`,
          ],
        })}
        query={{ app_id: app, from: '<day>', till: '<day>', mode: 'fast' }}
        body={{ funnel: { max_duration: within, steps } }}
        manual="funnels"
      />
    </>
  );
}

function ArchiveButton({ funnel: { identifier, archived } }: { funnel: Funnel }) {
  const changes = ['viewFunnel', 'listFunnels'] as const;
  const [archive, restore] = [useAction('archiveFunnel', { changes }), useAction('restoreFunnel', { changes })];
  const [operation, action, words] = archived
    ? (['restoreFunnel', restore, 'Restore'] as const)
    : (['archiveFunnel', archive, 'Archive'] as const);
  return (
    <>
      <ActionButton
        operation={operation}
        isBusy={action.isPending}
        onPress={() => action.mutate({ params: { identifier } })}
      >
        {words}
      </ActionButton>
      {action.error && <Refused refusal={action.error} />}
    </>
  );
}

function Definition({ funnel: { steps, labels } }: { funnel: Funnel }) {
  return (
    <Panel title="Definition">
      <div className="body">
        <p className="second">
          A stored funnel keeps its steps, so that earlier numbers stay comparable. For other steps edit it as a copy.
        </p>
        <ol className="definition">
          {steps.map((step, nth) => (
            <li key={nth}>
              <b>{stepName(step)}</b>
              {step.match_details.length > 0 && (
                <>
                  {' '}
                  with <code>{step.match_details.map((pairs) => JSON.stringify(pairs)).join(' or ')}</code>
                </>
              )}
              {step.values_erased !== undefined && ' (values of it were erased with the person that they name)'}
            </li>
          ))}
        </ol>
        {labels.length > 0 && (
          <p className="small second">
            Labels:{' '}
            {labels.map((label) => (
              <span key={label} className="chip">
                {label}
              </span>
            ))}
          </p>
        )}
      </div>
    </Panel>
  );
}
