/** Starts a test cluster; it prints how that ends. */
import { operator } from 'kubeloop'
import { testCluster } from 'kubeloop/testing'

const app = operator({ name: 'x' })
app.add('task', async () => {})
const { stop } = await testCluster(app).catch((error: Error) => ({ stop: () => console.log(error.message) }))
await stop()
