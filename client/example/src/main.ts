import { createApp, ref } from 'vue'
import { createGlbp } from 'glbp-client'
import { createGlbpPlugin } from 'glbp-client/vue'
import App from './App.vue'
import { EventLog } from './events'
import { readSettings } from './settings'
import './style.css'

const { options, nodes } = await readSettings()
const events = new EventLog()
const hint = ref('')
const glbp = createGlbp({
  ...options,
  env: {
    // What the client tells in the console, the page tells too.
    warn(text) {
      console.warn(`glbp: ${text}`)
      events.add(text, / is back/.test(text) ? 'good' : 'bad')
      hint.value = text
    },
  },
})
glbp.on('recovered', () => (hint.value = ''))
createApp(App, { glbp, events, hint, nodes }).use(createGlbpPlugin(glbp)).mount('#app')
