// What the pollers saw, in order of time, and questions to it.
//
// A world is a Map: host name -> {pool, status}, each the last thing seen there:
//   pool    {code, stale, body, json}      json: the parsed pool, null unless code is 200
//   status  {code, d}                      d: see digest() in poller.mjs, null unless code is 200
// A predicate takes a world. Times are milliseconds of CLOCK_MONOTONIC.
import { now } from './sh.mjs';

const UNKNOWN = { code: 0, error: 'not asked yet', json: null, d: null };

export class Timeline {
  constructor(names) {
    this.names = names;
    this.events = [];
    this.late = [];
    this.sorted = true;
    this.listeners = new Set();
  }

  add(host, line) {
    if (line.k === 'late') {
      this.late.push({ host, ...line });
      return;
    }
    const { k, t, ...seen } = line;
    seen.json = k === 'pool' && seen.code === 200 ? JSON.parse(seen.body) : null;
    seen.d ??= null;
    const event = { t, host, kind: k, seen };
    if (this.events.length && this.events.at(-1).t > t) this.sorted = false;
    this.events.push(event);
    for (const listener of this.listeners) listener(event);
  }

  /** Drops what was before `t`, but for the last thing of each kind seen on each host. */
  forget(t) {
    const last = new Map();
    for (const event of this.order())
      if (event.t < t) last.set(`${event.host} ${event.kind}`, event);
    const kept = new Set(last.values());
    this.events = this.events.filter((event) => event.t >= t || kept.has(event));
    this.late = this.late.filter((event) => event.t >= t);
  }

  order() {
    if (!this.sorted) this.events.sort((a, b) => a.t - b.t);
    this.sorted = true;
    return this.events;
  }

  /** Calls visit(t, world) for the world at `from` and after every event in from..to. */
  walk(from, to, visit) {
    const world = new Map(this.names.map((name) => [name, { pool: UNKNOWN, status: UNKNOWN }]));
    let begun = false;
    for (const event of this.order()) {
      if (event.t > to) break;
      if (event.t >= from && !begun) {
        begun = true;
        if (visit(from, world) === false) return;
      }
      world.get(event.host)[event.kind] = event.seen;
      if (begun && visit(event.t, world) === false) return;
    }
    if (!begun) visit(from, world);
  }

  world(t = Infinity) {
    let last;
    this.walk(t, t, (_, world) => { last = world; });
    return last;
  }

  /** First time from `from` on at which the predicate held, or null. */
  first(from, predicate, to = Infinity) {
    let found = null;
    this.walk(from, to, (t, world) => {
      if (!predicate(world)) return true;
      found = t;
      return false;
    });
    return found;
  }

  /** Since when the predicate has held without a break up to `to`, or null if it does not then. */
  settled(from, predicate, to = Infinity) {
    let since = null;
    this.walk(from, to, (t, world) => {
      if (!predicate(world)) since = null;
      else since ??= t;
    });
    return since;
  }

  /** The longest time without a break in from..to during which the predicate held, ms. */
  longest(from, to, predicate) {
    let since = null;
    let longest = 0;
    this.walk(from, to, (t, world) => {
      if (since !== null) longest = Math.max(longest, t - since);
      if (!predicate(world)) since = null;
      else since ??= t;
    });
    return since === null ? longest : Math.max(longest, to - since);
  }

  /** All distinct things seen of one kind on one host in from..to, the one at `from` included. */
  seen(host, kind, from, to = Infinity) {
    const list = [];
    this.walk(from, to, (_, world) => {
      const present = world.get(host)[kind];
      if (list.at(-1) !== present) list.push(present);
    });
    return list;
  }

  /** Everything of one kind on one host that was asked for after `from`. */
  asked(host, kind, from) {
    return this.order().filter((event) => event.host === host && event.kind === kind
      && event.seen.asked > from).map(({ seen }) => seen);
  }

  /** Resolves with the time at which the predicate came to hold, from `from` on, having held for
   *  `stable` ms; rejects after `timeout` ms with a drawing of the last world. */
  until(from, predicate, { timeout, stable = 0, what = 'the condition' }) {
    return new Promise((resolve, reject) => {
      let timer;
      let pending = false;
      const look = () => {
        pending = false;
        clearTimeout(timer);
        const since = this.settled(from, predicate);
        if (since !== null) timer = setTimeout(conclude, Math.max(0, since + stable - now()));
      };
      const conclude = () => {
        const since = this.settled(from, predicate);
        if (since !== null) finish(resolve, since);
      };
      // Lines come in bursts: one look for all of them.
      const soon = () => {
        if (!pending) setImmediate(look);
        pending = true;
      };
      // Late itself on a busy machine, it must not miss what holds by now.
      const end = setTimeout(() => {
        const since = this.settled(from, predicate);
        if (since !== null && since + stable <= now()) finish(resolve, since);
        else finish(reject, new Error(`${what}: not within ${timeout} ms\n${this.draw()}`));
      }, timeout);
      const finish = (act, value) => {
        clearTimeout(timer);
        clearTimeout(end);
        this.listeners.delete(soon);
        act(value);
      };
      this.listeners.add(soon);
      look();
    });
  }

  /** The longest time within from..to that a poller could not ask: the machine was too busy. */
  lateness(from, to = Infinity) {
    return Math.max(0, ...this.late.filter(({ t }) => t >= from && t <= to).map(({ ms }) => ms));
  }

  draw(world = this.world()) {
    return [...world].map(([name, { pool, status }]) => {
      const group = status.d?.groups[0];
      const about = group
        ? `${group.state} avg=${group.avg} standby=${group.standby} term=${group.term}`
          + ` alive=[${group.alive}]${group.reason ? ` (${group.reason})` : ''}`
        : `/status ${status.code} ${status.error ?? ''}`;
      const slots = pool.json
        ? pool.json.gateways.map((g) => `${g.slot}:${g.owner}->${g.id}/${g.state}/${g.weight}`)
          .join(' ') + ` ${pool.json.term}.${pool.json.avg}.${pool.json.version}`
          + ` majority=${pool.json.majority}${pool.stale ? ' stale' : ''}`
        : `/pool ${pool.code} ${pool.error ?? pool.body ?? ''}`;
      return `  ${name}: ${about} | ${slots}`;
    }).join('\n');
  }
}
