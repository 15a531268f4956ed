// What must hold while chaos goes on, judged from what the pollers and the clients saw.

const stampOf = ({ term, avg, version }) => ({ term, avg, version });
const text = ({ term, avg, version }) => `${term}.${avg}.${version}`;
const order = (a, b) => a.term - b.term || (a.avg < b.avg ? -1 : a.avg > b.avg ? 1 : 0)
  || a.version - b.version;

/** One process of an agent: what it published, from its start to its end. */
class Life {
  constructor(from) {
    Object.assign(this, { from, stamp: null, pool: null, served: false });
  }
}

export class Judge {
  /**
   * patience_ms   after a fault, how long clients may fail and slots may still move for it
   * busy_ms       a machine that was late by so much may have kept a BFF from answering: whether
   *               its slot may move cannot be told then
   * faults        Faults, for marks and excuses
   * late(a, b)    how late the machine was in a..b, ms: so much more patience
   * wrong(kind, text)
   */
  constructor(cluster, { patience_ms, busy_ms, faults, late, wrong }) {
    Object.assign(this, { cluster, patience_ms, busy_ms, faults, late, wrong });
    this.lives = new Map(cluster.names.map((name) => [name, [new Life(0)]]));
    this.forwarders = [];
    this.moved = { judged: 0, untold: 0 };
    this.failed = { inside: 0, outside: 0 };
    this.listener = (event) => {
      if (event.kind === 'pool') this.pool(event);
    };
    cluster.timeline.listeners.add(this.listener);
  }

  /** The end: whoever is told to stop now gives its slots away. */
  close() {
    this.cluster.timeline.listeners.delete(this.listener);
  }

  begun(host, t) {
    this.lives.get(host.name).push(new Life(t));
  }

  pool({ host, t, seen }) {
    const life = this.lives.get(host).findLast(({ from }) => from <= t);
    if (seen.code === 0) return;
    if (seen.code !== 200 || seen.json.gateways.length === 0) {
      if (life.served || seen.code === 200)
        this.wrong('empty pool', `${host}: ${seen.code} ${seen.body}`);
      return;
    }
    this.stamp(host, life, seen.json);
    this.moves(host, life, seen.json, t);
    Object.assign(life, { served: true, stamp: stampOf(seen.json), pool: seen.json });
  }

  stamp(host, life, json) {
    if (life.stamp && order(json, life.stamp) < 0)
      this.wrong('stamp went back', `${host}: ${text(life.stamp)} => ${text(json)}`);
  }

  /** Only the AVG decides: what changed in its own table, it did itself, now; unless it took over a
   *  table in which another had done it. */
  moves(host, life, json, t) {
    const before = json.avg === host && life.pool ? life.pool.gateways : [];
    for (const slot of before) {
      const after = json.gateways.find((g) => g.slot === slot.slot);
      if (!slot.id || !after || after.id === slot.id || after.id === after.owner) continue;
      const late = this.late(t - this.patience_ms, t);
      const patience = this.patience_ms + late;
      const others = this.forwarders.some((seen) => seen.slot === slot.slot
        && seen.id !== slot.id && seen.t > t - patience && seen.host !== host);
      const excused = others || this.faults.excused(slot.id, t, patience);
      this.moved[!excused && late > this.busy_ms ? 'untold' : 'judged']++;
      if (!excused && late <= this.busy_ms)
        this.wrong('slot moved off a serving host',
          `${host}: slot ${slot.slot} ${slot.id} => ${after.id || 'none'} in ${text(json)}`);
    }
    for (const { slot, id } of json.gateways) this.forwarders.push({ t, host, slot, id });
  }

  /** A line of the clients. */
  client(line) {
    if (line.k === 'empty') this.wrong('empty pool', `${line.agent}, as a client got it`);
    if (line.k !== 'failed') return;
    const patience = this.patience_ms + this.late(line.t - this.patience_ms, line.end);
    const inside = this.faults.marks.some((mark) => mark <= line.end && line.t <= mark + patience);
    this.failed[inside ? 'inside' : 'outside']++;
    if (!inside) this.wrong('call failed', `${line.why}; ${line.pool}`);
  }

  /** Drops what happened before `t`. */
  forget(t) {
    this.forwarders = this.forwarders.filter((seen) => seen.t >= t);
    for (const [name, list] of this.lives) {
      const life = list.findLast(({ from }) => from <= t);
      this.lives.set(name, list.slice(list.indexOf(life)));
    }
  }
}
