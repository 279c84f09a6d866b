import { useNavigate } from '@tanstack/react-router';
import { ActionButton } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { useAction } from '../../session/calls.ts';

/** Makes a draft with the settings of a campaign, and leads to it. */
export function Duplicate({ id, type, variants }: { id: string; type: string; variants: readonly object[] }) {
  const navigate = useNavigate();
  const duplicate = useAction('duplicateCampaign', {
    changes: ['listCampaigns'],
    onDone: ({ campaign_id: copy }) => void navigate({ to: `/campaigns/${copy}` }),
  });
  return (
    <>
      <ActionButton
        operation="duplicateCampaign"
        of={{ type, ...(variants.length > 1 ? { variants } : {}) }}
        isBusy={duplicate.isPending}
        onPress={() => duplicate.mutate({ params: { campaign_identifier: id }, body: {} })}
      >
        <Icon name="copy" />
        Duplicate
      </ActionButton>
      {duplicate.error && <Refused refusal={duplicate.error} />}
    </>
  );
}
