// One keep-alive HTTP/1.1 connection, kept as small as it can be: polling five agents every few
// milliseconds with Node's own client would eat the CPU that the agents under test need.
import net from 'node:net';

/** Splits the first whole response off `buffer`: {code, headers, body, rest}, or null if not whole. */
export function parseResponse(buffer) {
  const end = buffer.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = buffer.toString('latin1', 0, end);
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  const total = end + 4 + length;
  if (buffer.length < total) return null;
  return {
    code: Number(head.slice(9, 12)),
    head,
    body: buffer.subarray(end + 4, total),
    rest: buffer.subarray(total),
  };
}

export const header = (head, name) =>
  new RegExp(`^${name}: *(.*?) *$`, 'im').exec(head)?.[1] ?? null;

export class Connection {
  /** onEnd(error code): called once when the connection is gone. */
  constructor({ host = '127.0.0.1', port, onEnd }) {
    this.buffer = Buffer.alloc(0);
    this.waiting = null;
    this.gone = null;
    this.socket = net.connect({ host, port, noDelay: true });
    this.socket.on('data', (data) => this.take(data));
    this.socket.on('error', (error) => this.end(error.code));
    this.socket.on('close', () => this.end('closed'));
    this.onEnd = onEnd;
  }

  take(data) {
    this.buffer = this.buffer.length ? Buffer.concat([this.buffer, data]) : data;
    const response = parseResponse(this.buffer);
    if (!response || !this.waiting) return;
    this.buffer = response.rest;
    const { resolve } = this.waiting;
    this.waiting = null;
    resolve(response);
  }

  end(code) {
    if (this.gone) return;
    this.gone = code;
    this.socket.destroy();
    this.waiting?.reject(new Error(code));
    this.onEnd?.(code);
  }

  /** One request at a time. Resolves with the response, rejects when the connection breaks. */
  ask(request) {
    return new Promise((resolve, reject) => {
      if (this.gone) reject(new Error(this.gone));
      else {
        this.waiting = { resolve, reject };
        this.socket.write(request);
      }
    });
  }
}
