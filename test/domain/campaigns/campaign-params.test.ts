import { describe, expect, it } from 'vitest';
import {
  type CampaignParams,
  compileInapp,
  compilePush,
  placeholdersOf,
} from '../../../domain/campaigns/campaign-params.ts';

const PARAMS: CampaignParams = {
  push_message: 'Your parcel *@parcel@* leaves',
  push_title: 'Hello *@name|there@*',
  push_subtitle: '*@shop@*',
  deep_linking_url: 'shop://orders/*@order@*',
  pushAttachment: 'https://cdn.example.com/*@picture|none@*.png',
  pushCategory: '*@kept@*',
  push_includes_sound: true,
  push_action: 'open',
  push_parameters: [
    { key: '*@kept@*', value: '*@order@*!' },
    { key: 'to', value: 'all' },
  ],
  expire_after: 3_600,
  inapp: 'url',
  message_title: 'Hi *@name@*',
  message_content: 'x',
  message_btn: 'OK',
  inapp_content_url: 'https://shop.example.com/*@order@*',
  inapp_content_title: '*@shop|Shop@*',
  inapp_content_auto_display: true,
  inapp_parameters: [{ key: 'k', value: '*@v|@*' }],
};
const VARS = { parcel: 7, name: 'Ann', shop: 'North', order: 'a/1', v: true };

describe('a message', () => {
  it('has the values of placeholders in its texts, addresses and parameters, and nowhere else', () => {
    expect(compilePush(PARAMS).render(VARS)).toEqual({
      message: {
        title: 'Hello Ann',
        subtitle: 'North',
        body: 'Your parcel 7 leaves',
        deepLink: 'shop://orders/a/1',
        attachmentUrl: 'https://cdn.example.com/none.png',
        category: '*@kept@*',
        sound: 'default',
        parameters: { push_action: 'open', '*@kept@*': 'a/1!', to: 'all' },
      },
    });
    expect(compileInapp(PARAMS).render(VARS)).toEqual({
      message: {
        kind: 'url',
        title: 'Hi Ann',
        content: 'x',
        button: 'OK',
        contentUrl: 'https://shop.example.com/a/1',
        contentTitle: 'North',
        autoDisplay: true,
        deepLink: 'shop://orders/a/1',
        parameters: { k: 'true' },
      },
    });
  });

  it('without all its values names those that are missing, each once', () => {
    expect(compilePush(PARAMS).render({ parcel: null })).toEqual({ missing: ['shop', 'parcel', 'order'] });
    expect(compileInapp(PARAMS).render({ order: '1' })).toEqual({ missing: ['name'] });
    const blank = { ...PARAMS, push_message: '*@text@*', deep_linking_url: '*@link@*' };
    expect(compilePush(blank).render({ ...VARS, text: ' ', link: 'JavaScript:alert(1)' })).toEqual({
      missing: ['text', 'link'],
    });
  });

  it('is too big with over 32 KiB as JSON, and the values of thousands of placeholders are not put together', () => {
    const params = { ...PARAMS, push_message: '*@long@*', push_title: 'Hello' };
    const render = (long: string, message = params.push_message) =>
      compilePush({ ...params, push_message: message }).render({ ...VARS, long });
    const { message } = render('x') as { message: object };
    const rest = 32 * 1024 - JSON.stringify(message).length + 1;
    expect(render('x'.repeat(rest))).toMatchObject({ message: { body: 'x'.repeat(rest) } });
    expect(render('x'.repeat(rest + 1))).toEqual({ isTooBig: true });
    expect(render('\u0001'.repeat(rest / 6 + 1))).toEqual({ isTooBig: true });
    expect(render('x'.repeat(4_096), '*@long@*'.repeat(1_000_000))).toEqual({ isTooBig: true });
  });

  it('of a campaign says beforehand which values it needs', () => {
    const named = (push: boolean, inapp: boolean) =>
      placeholdersOf(PARAMS, { push, inapp }).map(({ name, hasDefault }) => `${name}${hasDefault ? '?' : ''}`);
    expect(named(true, false)).toEqual(['name?', 'shop', 'parcel', 'order', 'picture?']);
    expect(named(false, true)).toEqual(['name', 'order', 'shop?', 'v?']);
    expect(named(true, true)).toEqual(['name', 'shop', 'parcel', 'order', 'picture?', 'v?']);
  });

  it('of only what is required leaves the rest out', () => {
    const least: CampaignParams = {
      push_message: 'Hello',
      push_includes_sound: false,
      push_sound_value: 'ding.caf',
      push_parameters: [],
      expire_after: 1,
      inapp_parameters: [],
    };
    expect(compilePush(least).render({})).toEqual({
      message: {
        title: null,
        subtitle: null,
        body: 'Hello',
        deepLink: null,
        attachmentUrl: null,
        category: null,
        sound: null,
        parameters: {},
      },
    });
    expect(compilePush({ ...least, push_includes_sound: true }).render({})).toMatchObject({
      message: { sound: 'ding.caf' },
    });
  });
});
