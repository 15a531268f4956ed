import { ref } from 'vue'

export interface Action {
  what: string
  label: string
  title: string
}

/** What the demo's server does to a node (deploy/lib/nodes.sh). */
export const ACTIONS: readonly Action[] = [
  { what: 'kill', label: 'Kill', title: 'kill -9 of the BFF' },
  { what: 'freeze', label: 'Freeze', title: 'SIGSTOP of the BFF: connections stand, nothing answers' },
  { what: 'fail', label: '503', title: 'the BFF answers 503' },
  { what: 'slow', label: 'Slow', title: 'the BFF answers after 3 s' },
  { what: 'drain', label: 'Drain', title: 'glbpctl drain: its slots go to the others' },
  { what: 'off', label: 'Power off', title: 'kill -9 of BFF and agent together' },
]
export const MEND: Action = { what: 'mend', label: 'Mend', title: 'starts what is down, takes every fault away' }

/** What the last order that failed said. */
export const complaint = ref('')
export const busy = ref(false)

/** Has something done to nodes, to all at once. */
export async function order(nodes: readonly string[], what: string): Promise<void> {
  busy.value = true
  complaint.value = ''
  try {
    await Promise.all(nodes.map((node) => send(node, what)))
  } catch (error) {
    complaint.value = `${what}: ${(error as Error).message}`
  } finally {
    busy.value = false
  }
}

async function send(node: string, what: string): Promise<void> {
  const answer = await fetch('control', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ node, what }),
  })
  if (!answer.ok) throw new Error(((await answer.json()) as { error: string }).error)
}

/** Each node ends in order and starts again, when the one before is back. */
export async function rollingRestart(nodes: readonly string[], isWhole: () => boolean): Promise<void> {
  for (const node of nodes) {
    await order([node], 'restart')
    if (complaint.value) return
    busy.value = true
    for (let waited = 0; waited < 15_000 && !isWhole(); waited += 200) await new Promise((done) => setTimeout(done, 200))
    busy.value = false
  }
}
