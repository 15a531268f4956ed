import { createApp, ref } from 'vue'
import { createGlbp } from 'glbp-client'
import { createGlbpPlugin } from 'glbp-client/vue'
import App from './App.vue'
import { EventLog } from './events'
import { readSettings } from './settings'
import './style.css'

const HINTS = 20
const { options, nodes } = await readSettings()
const events = new EventLog()
const hints = ref<string[]>([])
const glbp = createGlbp({
  ...options,
  env: {
    // What the client tells in the console, the page tells too.
    warn(text) {
      console.warn(`glbp: ${text}`)
      events.add(text, / is back/.test(text) ? 'good' : 'bad')
      hints.value = [text, ...hints.value.filter((other) => other !== text)].slice(0, HINTS)
    },
  },
})
glbp.on('recovered', () => (hints.value = []))
createApp(App, { glbp, events, hints, nodes }).use(createGlbpPlugin(glbp)).mount('#app')
