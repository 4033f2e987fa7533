// kafkajs does everything that people use it for: `tour.js BOOTSTRAP`. It ends with "done".
'use strict'

const assert = require('assert').strict
const { CompressionTypes, ConfigResourceTypes, Kafka, Partitioners, logLevel } = require('kafkajs')

const TOPIC = 'kafkajs'
const GROUP = 'kafkajs-group'
const kafka = new Kafka({ brokers: process.argv[2].split(','), logLevel: logLevel.NOTHING })
const admin = kafka.admin()

async function until(condition) {
  for (const end = Date.now() + 30000; Date.now() < end; await new Promise((go) => setTimeout(go, 50))) {
    if (await condition()) return
  }
  throw new Error(`waited too long for ${condition}`)
}

async function refusal(promise) {
  return promise.then(() => null, (error) => error.type || error.name)
}

async function topics() {
  const configEntries = [{ name: 'retention.ms', value: '86400000' }]
  const wanted = { topic: TOPIC, numPartitions: 2, replicationFactor: 3, configEntries }
  assert.equal(await admin.createTopics({ topics: [wanted], waitForLeaders: true }), true)
  assert.equal(await admin.createTopics({ topics: [wanted] }), false)
  await admin.createPartitions({ topicPartitions: [{ topic: TOPIC, count: 3 }] })
  await until(async () => (await admin.fetchTopicMetadata({ topics: [TOPIC] })).topics[0].partitions.length === 3)
  const resource = { type: ConfigResourceTypes.TOPIC, name: TOPIC }
  const changed = { ...resource, configEntries: [{ name: 'retention.ms', value: '7200000' }] }
  await admin.alterConfigs({ resources: [changed] })
  await until(async () => {
    const found = await admin.describeConfigs({ resources: [{ ...resource, configNames: ['retention.ms'] }] })
    return found.resources[0].configEntries[0].configValue === '7200000'
  })
  assert((await admin.listTopics()).includes(TOPIC))
  assert.equal((await admin.describeCluster()).brokers.length, 3)
}

async function records() {
  const producer = kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  for (const compression of [CompressionTypes.None, CompressionTypes.GZIP]) {
    const messages = Array.from({ length: 50 }, (_, n) => ({ key: `k${n}`, value: `v${n}`, headers: { h: '1' } }))
    await producer.send({ topic: TOPIC, acks: -1, compression, messages })
  }
  await producer.send({ topic: TOPIC, messages: [{ key: null, value: null }] })
  const large = { topic: TOPIC, messages: [{ value: Buffer.alloc(1200000) }] }
  assert.equal(await refusal(producer.send(large)), 'MESSAGE_TOO_LARGE')
  await producer.disconnect()
  const transactional = kafka.producer({ transactionalId: 'tx', idempotent: true, maxInFlightRequests: 1 })
  await transactional.connect()
  for (const end of ['commit', 'abort']) {
    const transaction = await transactional.transaction()
    await transaction.send({ topic: `${TOPIC}-whole`, messages: [{ value: end }] })
    await transaction[end]()
  }
  await transactional.disconnect()
}

async function member(seen) {
  const consumer = kafka.consumer({ groupId: GROUP, maxWaitTimeInMs: 200 })
  await consumer.connect()
  await consumer.subscribe({ topics: [TOPIC], fromBeginning: true })
  await consumer.run({ autoCommitInterval: 500, eachMessage: async ({ message }) => { seen.push(message) } })
  return consumer
}

async function groups() {
  const seen = []
  const first = await member(seen)
  await until(() => seen.length === 101)
  assert.equal(seen.filter((one) => one.headers.h && String(one.headers.h) === '1').length, 100)
  assert.equal(seen.filter((one) => one.key === null && one.value === null).length, 1)
  const second = await member(seen)
  const described = async () => (await admin.describeGroups([GROUP])).groups[0]
  await until(async () => { const group = await described(); return group.state === 'Stable' && group.members.length === 2 })
  await Promise.all([first.disconnect(), second.disconnect()])
  await until(async () => (await described()).state === 'Empty')
  assert.equal(seen.length, 101)
  assert((await admin.listGroups()).groups.some((one) => one.groupId === GROUP))
}

async function offsets() {
  const committed = async () => (await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] }))[0].partitions
  const sum = (parts) => parts.reduce((total, one) => total + Math.max(0, Number(one.offset)), 0)
  assert.equal(sum(await committed()), 101)
  assert.equal(sum(await admin.fetchTopicOffsets(TOPIC)), 101)
  await admin.resetOffsets({ groupId: GROUP, topic: TOPIC, earliest: true })
  assert.equal(sum(await committed()), 0)
  await admin.setOffsets({ groupId: GROUP, topic: TOPIC, partitions: [{ partition: 0, offset: '1' }] })
  assert.equal(sum(await committed()), 1)
  const byTime = await admin.fetchTopicOffsetsByTimestamp(TOPIC, 1000)
  assert.deepEqual(byTime.map((one) => one.offset), ['0', '0', '0'])
  await admin.deleteTopicRecords({ topic: TOPIC, partitions: [{ partition: 0, offset: '-1' }] })
  const [zero] = (await admin.fetchTopicOffsets(TOPIC)).filter((one) => one.partition === 0)
  assert.equal(zero.low, zero.high)
  assert.equal((await admin.listPartitionReassignments({ topics: undefined })).topics.length, 0)
  await admin.deleteGroups([GROUP])
  await admin.deleteTopics({ topics: [TOPIC] })
  await until(async () => !(await admin.listTopics()).includes(TOPIC))
}

async function main() {
  await admin.connect()
  for (const step of [topics, records, groups, offsets]) await step()
  await admin.disconnect()
  console.log('done')
}

main().then(() => process.exit(0), (error) => { console.error(error); process.exit(1) })
