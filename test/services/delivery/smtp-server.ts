import { createServer, type AddressInfo } from 'node:net';

/** An email that the server accepted. */
export interface TakenMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body parts, as sent. */
  readonly text: string;
}

/** Starts a minimal SMTP server that accepts every email, or refuses with the text in `answer`. @source RFC 5321 */
export async function startSmtpServer() {
  const takenMails: TakenMail[] = [];
  const state = { answer: '250 taken', isDeaf: false };
  const server = createServer((socket) => {
    let from = '';
    let to: string[] = [];
    let data: string[] | undefined;
    let restText = '';
    const sendLine = (text: string): void => void socket.write(`${text}\r\n`);
    sendLine('220 test');
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      if (state.isDeaf) return;
      const lines = (restText + chunk.toString('latin1')).split('\r\n');
      restText = lines.pop()!;
      for (const line of lines) {
        if (data !== undefined) {
          if (line !== '.') data.push(line.replace(/^\.\./, '.'));
          else {
            if (state.answer.startsWith('250')) takenMails.push({ from, to, text: data.join('\r\n') });
            data = undefined;
            to = [];
            sendLine(state.answer);
          }
        } else if (/^(EHLO|HELO)/i.test(line)) sendLine('250 test');
        else if (/^MAIL FROM/i.test(line)) {
          from = /<([^>]*)>/.exec(line)?.[1] ?? '';
          sendLine('250 ok');
        } else if (/^RCPT TO/i.test(line)) {
          to.push(/<([^>]*)>/.exec(line)?.[1] ?? '');
          sendLine('250 ok');
        } else if (/^DATA/i.test(line)) {
          data = [];
          sendLine('354 go on');
        } else if (/^QUIT/i.test(line)) {
          sendLine('221 bye');
          socket.end();
        } else sendLine('250 ok');
      }
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: takenMails,
    state,
    close: () => server.close(),
  };
}

/** Returns a decoded attachment of an email. */
export function findAttachment({ text }: TakenMail, name: string): Buffer | undefined {
  const part = text
    .split('\r\n--')
    .find((each) => each.includes(`filename=${name}`) || each.includes(`filename="${name}"`));
  const body = part?.split('\r\n\r\n').slice(1).join('\r\n\r\n');
  return body === undefined ? undefined : Buffer.from(body, 'base64');
}
