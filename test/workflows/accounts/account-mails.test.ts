import { expect, it } from 'vitest';
import { rememberSecret } from '../../harness/core/people.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld } from '../../harness/core/world.ts';

const stack = useStack();

it('the sweep mails an invitation and a link that sets a password, whose tokens Temporal and the logs never see', async () => {
  const [smtp, world] = [await smtpServer(), await makeWorld(stack.store)];
  stack.startWorker({ smtpUrl: `smtp://127.0.0.1:${smtp.port}` });
  const headers = { authorization: `Token ${world.token}` };
  const post = async (url: string, payload: object) =>
    expect((await stack.app.inject({ method: 'POST', url, headers, payload })).statusCode).toBe(200);
  await post('/api/users', { email: 'invited@example.com' });
  await post('/api/password_resets', { email: world.user.email });
  const linkTo = (email: string) =>
    waitFor(`the mail to ${email}`, async () => {
      const mail = smtp.received.find(({ to }) => to.includes(email))?.mail;
      return mail && new URL(/^http\S+$/m.exec(mail.text)![0]);
    });
  for (const email of ['invited@example.com', world.user.email]) {
    const { pathname } = await linkTo(email);
    rememberSecret(pathname.split('/').at(-1)!); // searched for at the end of the run
    expect((await stack.app.inject({ url: pathname })).statusCode).toBe(200);
    const payload = { password: 'a long password' };
    expect((await stack.app.inject({ method: 'POST', url: pathname, payload })).statusCode).toBe(200);
  }
});
