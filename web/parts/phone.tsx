/** A message as a phone or a browser shows it, cut about where devices cut it. */
import type { InappContent, PushContent } from '../../domain/campaigns/campaign-params.ts';
import { type CutAt, cutAtOf, shownText } from '../../domain/campaigns/preview.ts';
import type { PushPlatform } from '../../domain/sends/push.ts';
import { Icon } from './icon.tsx';

/** A rendered message; null: it has none yet, or it would not be sent. */
export type PhoneMessage =
  | { channel: 'push'; message: PushContent | null; cutAt?: CutAt | undefined }
  | { channel: 'inapp'; message: InappContent | null; cutAt?: undefined };

type Props = PhoneMessage & {
  platform: PushPlatform;
  /** Name of the app, which devices show with a push. */
  app?: string | undefined;
  /** Address of the picture at this server, which fetches it. */
  picture?: string | undefined;
};

const SCREENS: Record<PushPlatform, string> = {
  ios: 'Lock screen of iOS',
  android: 'Closed notification of Android',
  web: 'Notification of a browser',
};

/** Shows a message on a device of `platform`, and says where it is cut. */
export function Phone(props: Props) {
  return props.channel === 'push' ? <Push {...props} /> : <Inapp {...props} />;
}

function Push({ platform, message, app = 'Your app', picture, cutAt }: Extract<Props, { channel: 'push' }>) {
  const most = cutAt ?? cutAtOf(platform, message ?? { attachmentUrl: null });
  const title = shownText(message?.title ?? (platform === 'ios' ? '' : app), most.title);
  const subtitle = platform === 'ios' && message?.subtitle ? shownText(message.subtitle, most.title) : null;
  const body = shownText(message?.body ?? '', most.body);
  const shown = [title.text, subtitle?.text, body.text].filter(Boolean).join('. ');
  const cut = [title.isCut && 'the title', subtitle?.isCut && 'the subtitle', body.isCut && 'the text'].filter(Boolean);
  return (
    <figure className="phone-figure">
      <div
        className={`phone phone-${platform}`}
        role="img"
        aria-label={`${SCREENS[platform]}: ${shown || 'no text yet'}`}
      >
        <div className="phone-screen" aria-hidden="true">
          {platform === 'web' ? <BrowserPage /> : <Clock />}
          <div className="phone-push">
            <span className="phone-app">
              <Icon name="box" />
            </span>
            <div className="phone-texts" dir="auto">
              <p className="phone-of">{platform === 'ios' ? 'now' : `${app} · now`}</p>
              {title.text !== '' && <b>{title.text}</b>}
              {subtitle !== null && <b>{subtitle.text}</b>}
              <p>{body.text || 'The text of the push'}</p>
            </div>
            {typeof message?.attachmentUrl === 'string' && <Picture address={picture} />}
          </div>
        </div>
      </div>
      <figcaption className="small quiet">
        {cut.length > 0 && <span>Cut here: {cut.join(', ')}. </span>}
        {SCREENS[platform]}: about {most.title} characters of the title, {most.body} of the text. Devices differ: send
        yourself a test.
      </figcaption>
    </figure>
  );
}

function Inapp({ platform, message }: Extract<Props, { channel: 'inapp' }>) {
  const { kind = 'native', title = null, content = null, button = null, contentUrl = null } = message ?? {};
  const texts = [title, content, button && `Button: ${button}`, contentUrl && `Page: ${contentUrl}`].filter(Boolean);
  const isPage = kind === 'url' && (message?.autoDisplay === true || title === null);
  return (
    <figure className="phone-figure">
      <div
        className={`phone phone-${platform}`}
        role="img"
        aria-label={`In-app message: ${texts.join('. ') || 'no text yet'}`}
      >
        <div className="phone-screen phone-inapp" aria-hidden="true">
          <div className="phone-page">
            <i />
            <i />
            <i />
            <i />
          </div>
          <div className="phone-modal" dir="auto">
            {isPage ? (
              <>
                <b>{message?.contentTitle ?? 'Page of your own'}</b>
                <p className="phone-address">{contentUrl ?? 'The address of the page'}</p>
              </>
            ) : (
              <>
                <b>{title ?? 'Title'}</b>
                <p>{content ?? 'The text of the message'}</p>
                <em>{button ?? 'Button'}</em>
              </>
            )}
          </div>
        </div>
      </div>
      <figcaption className="small quiet">
        The app draws it: this shows what it gets. Long texts scroll. Devices differ: send yourself a test.
      </figcaption>
    </figure>
  );
}

function Picture({ address }: { address: string | undefined }) {
  return address === undefined ? (
    <span className="phone-picture" />
  ) : (
    <img className="phone-picture" src={address} alt="" />
  );
}

function Clock() {
  return (
    <div className="phone-clock">
      <span>Thursday 26 November</span>
      <b>18:00</b>
    </div>
  );
}

function BrowserPage() {
  return (
    <div className="phone-page">
      <i />
      <i />
      <i />
    </div>
  );
}
