// Calls that are not made: for safety, or because a floor of the house must not know them.
import { calls } from './c-tokens.mjs';
import { files, finish, isC, read } from './files.mjs';

const everywhere = () => true;
const inProto = (path) => path.startsWith('proto/');
const notClock = (path) => path.startsWith('proto/')
  || (path.startsWith('agent/') && path !== 'agent/clock.c');
const product = (path) => /^(proto|agent)\//.test(path);

const RULES = [
  [product, ['strcpy', 'strcat', 'sprintf', 'vsprintf'],
    'has no bound: use snprintf() or memcpy() with the size of the target'],
  [product, ['atoi', 'atol', 'atoll', 'atof'], 'hides errors: use strtol() and check the end'],
  [product, ['strtok', 'localtime', 'gmtime', 'ctime', 'asctime', 'readdir_r',
    'inet_ntoa', 'gethostbyname'], 'is not safe with threads: use the _r form or a newer call'],
  [everywhere, ['gets', 'alloca', 'mktemp', 'tmpnam'], 'is unsafe: use a bounded buffer or mkstemp()'],
  [product, ['setjmp', 'longjmp'], 'hides the way out: return an error'],
  [product, ['system', 'popen', 'vfork'], 'starts a shell or a process: an agent never does'],
  [product, ['rand', 'srand', 'random', 'srandom'],
    'is a hidden state: take numbers from the seed or from getrandom()'],
  [notClock, ['time', 'clock_gettime', 'gettimeofday', 'clock', 'timespec_get', 'uv_hrtime',
    'uv_now'], 'reads a clock: time comes from agent/clock.h, in proto/ with each input'],
  [inProto, ['malloc', 'calloc', 'realloc', 'free', 'strdup', 'strndup'],
    'allocates: proto/ works in the storage that it is given'],
  [inProto, ['printf', 'fprintf', 'snprintf', 'vsnprintf', 'puts', 'fputs', 'perror', 'abort',
    'exit', 'getenv', 'socket'],
    'reaches the world: proto/ returns actions, agent/ carries them out'],
];

const findings = [];
for (const path of files((name) => isC(name) && /^(proto|agent|tests)\//.test(name)))
  for (const { name, line } of calls(read(path)))
    for (const [where, names, why] of RULES)
      if (names.includes(name) && where(path)) findings.push({ path, line, text: `${name}() ${why}` });
finish(findings);
