/** The message of a campaign as devices show it: a draft as it is typed, a campaign as it was launched. */
import { useMemo, useState } from 'react';
import type { CampaignDetails } from '../../../api/client.ts';
import type { CampaignParams } from '../../../domain/campaigns/campaign-params.ts';
import { isProfileName } from '../../../domain/campaigns/placeholders.ts';
import { type MessagePreview, previewMessages } from '../../../domain/campaigns/preview.ts';
import { PUSH_PLATFORMS, type PushPlatform } from '../../../domain/sends/push.ts';
import { Icon } from '../../parts/icon.tsx';
import { Phone } from '../../parts/phone.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { countText } from '../../parts/values.tsx';
import { fileAddress } from '../../session/api.ts';
import { useSession } from '../../session/session.tsx';
import { type DraftParams, draftOf, sentParams } from './draft.ts';
import { useEdit } from './edit.tsx';
import { PersonPreview } from './person-preview.tsx';

type Includes = { push: boolean; inapp: boolean };

export function PreviewOfDraft({ appName }: { appName: string | undefined }) {
  const { draft, variant, channel, picture } = useEdit();
  const own = variant === null ? {} : draft.variants[variant]!.params;
  const includes = { push: draft.includes_push, inapp: draft.includes_inapp };
  return (
    <Preview
      key={channel === 'inapp' ? 'inapp' : 'push'}
      params={{ ...draft.params, ...own }}
      includes={includes}
      appName={appName}
      picture={picture}
      isInapp={channel === 'inapp'}
    />
  );
}

export function PreviewOfCampaign({ campaign, appName }: { campaign: CampaignDetails; appName: string | undefined }) {
  const { variants } = campaign;
  const [chosen, setChosen] = useState(variants[0]?.identifier ?? '');
  const { params } = variants.find(({ identifier }) => identifier === chosen) ?? campaign;
  return (
    <>
      {variants.length > 1 && (
        <Toggles
          label="Variant"
          value={chosen}
          choices={variants.map(({ identifier, name, share }) => ({
            value: identifier,
            title: `${name} · ${share} %`,
          }))}
          onChange={setChosen}
        />
      )}
      <Preview
        params={draftOf({ ...campaign, params }).params}
        includes={{ push: campaign.includes_push, inapp: campaign.includes_inapp }}
        appName={appName}
        picture={params.pushAttachment}
        isInapp={!campaign.includes_push}
      />
    </>
  );
}

const NAMES: Record<PushPlatform, string> = { ios: 'iOS', android: 'Android', web: 'Web' };
type Shown = PushPlatform | 'inapp';

function Preview({
  params,
  includes,
  appName,
  picture,
  isInapp,
}: {
  params: DraftParams;
  includes: Includes;
  appName: string | undefined;
  /** The address whose picture is fetched, if the message has it. */
  picture: string | null;
  isInapp: boolean;
}) {
  const [asked, setAsked] = useState<Shown>(isInapp ? 'inapp' : 'ios');
  const preview = useMemo(
    () => previewMessages(sentParams(params) as CampaignParams, { includes }),
    [params, includes.push, includes.inapp],
  );
  const choices = [
    ...(includes.push ? PUSH_PLATFORMS.map((value) => ({ value: value as Shown, title: NAMES[value] })) : []),
    ...(includes.inapp ? [{ value: 'inapp' as Shown, title: 'In the app' }] : []),
  ];
  const { may } = useSession();
  const push = preview.push?.message ?? null;
  const address = push?.attachmentUrl ?? null;
  const isFetched = address !== null && address === picture && may('viewPicture');
  const shown = choices.find(({ value }) => value === asked)?.value ?? choices[0]?.value;
  if (shown === undefined) return null;
  return (
    <section className="tight" aria-label="Preview">
      <Toggles label="Device" choices={choices} value={shown} onChange={setAsked} />
      {shown === 'inapp' ? (
        <Phone channel="inapp" platform="ios" message={preview.inapp?.message ?? null} app={appName} />
      ) : (
        <Phone
          channel="push"
          platform={shown}
          message={push}
          app={appName}
          picture={isFetched ? fileAddress('viewPicture', {}, { address }) : undefined}
        />
      )}
      <Sizes preview={preview} />
      <Values preview={preview} />
      {preview.values.some(({ name }) => isProfileName(name)) && (
        <PersonPreview params={sentParams(params) as CampaignParams} includes={includes} />
      )}
    </section>
  );
}

function Sizes({ preview: { push } }: { preview: MessagePreview }) {
  if (push?.code === 'MESSAGE_TO_BIG') return <p className="note bad">The message is too large for devices.</p>;
  if (!push || push.sizes.length === 0) return null;
  const tooBig = push.sizes.some(({ bytes, maxBytes }) => bytes > maxBytes);
  return (
    <p className={tooBig ? 'note bad' : 'note'}>
      <Icon name={tooBig ? 'crash' : 'check'} />
      <span>
        {push.sizes
          .map(
            ({ platform, bytes, maxBytes }) =>
              `${countText(bytes)} of ${countText(maxBytes)} bytes on ${NAMES[platform]}`,
          )
          .join(', ')}
        .
      </span>
    </p>
  );
}

const SOURCES = { given: 'given', profile: 'of the person', default: 'its default', sample: 'a sample' } as const;

function Values({ preview: { values } }: { preview: MessagePreview }) {
  if (values.length === 0) return null;
  return (
    <p className="small quiet placeholders">
      Placeholders:{' '}
      {values
        .map(({ name, text, source }) => `${name} shows ${text === '' ? 'nothing' : text}, ${SOURCES[source]}`)
        .join('; ')}
      .
    </p>
  );
}
