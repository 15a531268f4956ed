// A network of its own for a test: one namespace per host, each with eth0 on a bridge that lives in
// one more namespace. The root namespace sees nothing of it. Faults are nft rules on that bridge, so
// a whole partition begins, and ends, in one transaction of the kernel.
//
//   host i    eth0  02:67:6c:00:00:<i>  10.77.0.<i>/24  fd77::<i>/64  fe80::<i>/64    port<i> of br0
//
// Every name begins with glt<pid>-, so that the next run can clear what a crashed one left behind.
import { readFileSync, readdirSync } from 'node:fs';
import { run } from './sh.mjs';

const LIVE = new Set();

const rules = (hosts) => `
table bridge glt {
  set cut_udp { type ifname . ifname; }
  set cut_all { type ifname . ifname; }
${hosts.map((i) => `  counter sent${i} {\n  }`).join('\n')}
  chain loss {
  }
  chain count {
    type filter hook prerouting priority 0;
${hosts.map((i) => `    iifname port${i} udp dport 3222 counter name sent${i}`).join('\n')}
  }
  chain forward {
    type filter hook forward priority 0;
    iifname . oifname @cut_all drop
    udp dport 3222 iifname . oifname @cut_udp drop
    udp dport 3222 jump loss
  }
}`;

export const mac = (i) => `02:67:6c:00:00:${i.toString(16).padStart(2, '0')}`;
export const ip4 = (i) => `10.77.0.${i}`;
export const ip6 = (i) => `fd77::${i.toString(16)}`;

const pidAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

function removeNamespace(name) {
  for (const pid of run('ip', ['netns', 'pids', name]).split('\n').filter(Boolean)) {
    try {
      process.kill(Number(pid), 'SIGKILL');
    } catch { /* it ended by itself */ }
  }
  run('ip', ['netns', 'del', name]);
}

/** Removes the namespaces of runs whose process is gone. Returns their names. */
export function sweepLeftovers() {
  const names = run('ip', ['netns', 'list']).split('\n').map((line) => line.split(' ')[0]);
  const stale = names.filter((name) => {
    const match = /^glt(\d+)-/.exec(name);
    return match && !pidAlive(Number(match[1]));
  });
  stale.forEach(removeNamespace);
  return stale;
}

let made = 0;

export class Network {
  /** @param {number} hosts how many host namespaces, numbered from 1 */
  constructor(hosts) {
    this.prefix = `glt${process.pid}-${++made}-`;
    this.bridge = `${this.prefix}br`;
    this.hosts = Array.from({ length: hosts }, (_, i) => i + 1);
  }

  namespace(i) {
    return `${this.prefix}${i}`;
  }

  /** The command line that runs `argv` on host i; the process id stays. (`ip netns exec` also makes
   *  a mount namespace, which takes the better part of a second on a busy machine.) */
  argv(i, argv) {
    return ['nsenter', `--net=/run/netns/${this.namespace(i)}`, ...argv];
  }

  up() {
    LIVE.add(this);
    const names = [this.bridge, ...this.hosts.map((i) => this.namespace(i))];
    run('ip', ['-batch', '-'], { input: names.map((name) => `netns add ${name}\n`).join('') });
    // Without a querier a snooping bridge forgets who listens to multicast: flood instead.
    run('ip', ['-n', this.bridge, '-batch', '-'], {
      input: 'link add br0 type bridge stp_state 0 mcast_snooping 0\nlink set br0 up\n',
    });
    this.nft(rules(this.hosts));
    for (const i of this.hosts) this.addHost(i);
    return this;
  }

  addHost(i) {
    const name = this.namespace(i);
    this.run(name, ['sysctl', '-qw', 'net.ipv6.conf.default.accept_dad=0',
      'net.ipv6.conf.all.accept_dad=0']);
    run('ip', ['-n', name, '-batch', '-'], { input: 'link set lo up\n' });
    this.plug(i);
  }

  /** Makes eth0 of host i and plugs it into the bridge; also after unplug(). */
  plug(i, { addresses = true } = {}) {
    const name = this.namespace(i);
    run('ip', ['-n', name, '-batch', '-'], {
      input: [
        `link add eth0 address ${mac(i)} type veth peer name port${i} netns ${this.bridge}`,
        'link set eth0 addrgenmode none',
        'link set eth0 up',
        '',
      ].join('\n'),
    });
    run('ip', ['-n', this.bridge, 'link', 'set', `port${i}`, 'master', 'br0', 'up']);
    if (addresses) this.address(i);
  }

  unplug(i) {
    run('ip', ['-n', this.namespace(i), 'link', 'del', 'eth0']);
  }

  /** Gives host i its addresses again, e.g. after flush(); or those of another number. */
  address(i, number = i) {
    run('ip', ['-n', this.namespace(i), '-batch', '-'], {
      input: [
        `addr replace ${ip4(number)}/24 brd + dev eth0`,
        `addr replace ${ip6(number)}/64 dev eth0 nodad`,
        `addr replace fe80::${number.toString(16)}/64 dev eth0 nodad`,
        'route replace 224.0.0.0/4 dev eth0',
        '',
      ].join('\n'),
    });
  }

  flush(i) {
    run('ip', ['-n', this.namespace(i), 'addr', 'flush', 'dev', 'eth0']);
  }

  link(i, state) {
    run('ip', ['-n', this.namespace(i), 'link', 'set', 'eth0', state]);
    // The kernel drops IPv6 addresses and routes when a link goes down.
    if (state === 'up') this.address(i);
  }

  run(namespace, argv, options) {
    return run('nsenter', [`--net=/run/netns/${namespace}`, ...argv], options);
  }

  nft(text) {
    this.run(this.bridge, ['nft', '-f', '-'], { input: `${text}\n` });
  }

  /** One-way cuts: pairs of [from, to]. what: 'udp' (the protocol's) or 'all'. */
  cut(pairs, what = 'udp') {
    const elements = pairs.map(([from, to]) => `"port${from}" . "port${to}"`);
    this.nft(`add element bridge glt cut_${what} { ${elements.join(', ')} }`);
  }

  /** Cuts the network into parts, e.g. [[1], [2, 3]]. */
  partition(parts, what = 'udp') {
    const part = new Map(parts.flatMap((hosts, k) => hosts.map((i) => [i, k])));
    const all = [...part.keys()];
    this.cut(all.flatMap((a) => all.filter((b) => part.get(a) !== part.get(b)).map((b) => [a, b])),
      what);
  }

  /** Cuts host i off from all others; its processes live on. */
  isolate(i, what = 'all') {
    this.partition([[i], this.hosts.filter((k) => k !== i)], what);
  }

  /** Drops `percent` of the protocol's datagrams, for each receiver on its own. */
  loss(percent) {
    this.nft('flush chain bridge glt loss'
      + (percent ? `\nadd rule bridge glt loss numgen random mod 100 < ${percent} drop` : ''));
  }

  /** Ends every cut. */
  uncut() {
    this.nft('flush set bridge glt cut_udp\nflush set bridge glt cut_all');
  }

  /** Ends every cut and loss. */
  heal() {
    this.nft('flush set bridge glt cut_udp\nflush set bridge glt cut_all\n'
      + 'flush chain bridge glt loss');
  }

  /** Datagrams to port 3222 that host i put on the wire since up(). */
  sent(i) {
    const text = this.run(this.bridge, ['nft', 'list', 'counter', 'bridge', 'glt', `sent${i}`]);
    return Number(/packets (\d+)/.exec(text)[1]);
  }

  down() {
    for (const name of [...this.hosts.map((i) => this.namespace(i)), this.bridge]) {
      try {
        removeNamespace(name);
      } catch { /* never made, or gone already */ }
    }
    LIVE.delete(this);
  }
}

/** For exit handlers: removes whatever this process still has. */
export function downAll() {
  for (const network of [...LIVE]) network.down();
}

/** Resident memory (kB) and open descriptors of a process. */
export function processUse(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    rss_kb: Number(/VmRSS:\s+(\d+)/.exec(status)[1]),
    fds: readdirSync(`/proc/${pid}/fd`).length,
  };
}
