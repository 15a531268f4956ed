// Child processes on the hosts of a test network: the agent, the BFF, the poller, the tools.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import readline from 'node:readline';
import { sleep } from './sh.mjs';

const LIVE = new Set();

export class Process {
  /** Starts argv; its output goes to `log` unless `talk`, which keeps stdin and stdout as pipes. */
  constructor(argv, { log, env = {}, talk = false } = {}) {
    mkdirSync(dirname(log), { recursive: true });
    const out = openSync(log, 'a');
    this.log = log;
    this.child = spawn(argv[0], argv.slice(1), {
      env: { ...process.env, ...env },
      stdio: talk ? ['pipe', 'pipe', out] : ['ignore', out, out],
    });
    closeSync(out);
    this.exit = null;
    this.exited = new Promise((resolve) => {
      const end = (exit) => {
        this.exit ??= exit;
        LIVE.delete(this);
        resolve(this.exit);
      };
      this.child.on('exit', (code, signal) => end({ code, signal }));
      this.child.on('error', (error) => end({ code: -1, signal: null, error }));
    });
    LIVE.add(this);
  }

  get pid() {
    return this.child.pid;
  }

  kill(signal) {
    this.child.kill(signal); // one that has ended meanwhile is left alone
  }

  /** SIGTERM, then SIGKILL after `patience` ms. Resolves with {code, signal}. */
  async end(patience = 5000) {
    this.kill('SIGCONT');
    this.kill('SIGTERM');
    const late = sleep(patience).then(() => null);
    const exit = await Promise.race([this.exited, late]);
    if (!exit) this.kill('SIGKILL');
    return exit ?? this.exited;
  }

  text() {
    return readFileSync(this.log, 'utf8');
  }
}

/** A helper program that answers JSON lines on stdin with JSON lines of the same id on stdout. */
export class Talker extends Process {
  constructor(argv, { log, onLine }) {
    super(argv, { log, talk: true });
    this.next = 1;
    this.waiting = new Map();
    this.child.stdin.on('error', () => {});
    readline.createInterface({ input: this.child.stdout }).on('line', (text) => {
      const line = JSON.parse(text);
      const waiting = this.waiting.get(line.id);
      if (line.k !== 'reply' || !waiting) onLine?.(line);
      else {
        this.waiting.delete(line.id);
        if (line.failed) waiting.reject(new Error(line.failed));
        else waiting.resolve(line);
      }
    });
    this.exited.then(() => {
      for (const { reject } of this.waiting.values())
        reject(new Error(`${argv.join(' ')} ended: ${this.text()}`));
    });
  }

  ask(command) {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.child.stdin.write(`${JSON.stringify({ id, ...command })}\n`);
    });
  }
}

/** For exit handlers. */
export function killAll() {
  for (const live of LIVE) {
    try {
      process.kill(live.pid, 'SIGKILL');
    } catch { /* it ended by itself */ }
  }
}
