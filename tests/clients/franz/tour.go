package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	topic = "franz"
	group = "franz-group"
)

// tour does everything that people use the client for.
func tour(brokers kgo.Opt) {
	ctx, cancel := context.WithTimeout(context.Background(), 80*time.Second)
	defer cancel()
	client := must(kgo.NewClient(brokers))
	defer client.Close()
	admin := kadm.NewClient(client)
	topics(ctx, admin)
	records(ctx, brokers)
	groups(ctx, admin, brokers)
	offsets(ctx, admin)
	moves(ctx, admin)
	transactions(ctx, brokers)
	refusals(ctx, admin)
	must(admin.DeleteTopics(ctx, topic))
	fmt.Println("done")
}

func until(what string, condition func() bool) {
	for end := time.Now().Add(30 * time.Second); !condition(); time.Sleep(50 * time.Millisecond) {
		assert(time.Now().Before(end), "waited too long:", what)
	}
}

func topics(ctx context.Context, admin *kadm.Client) {
	settings := map[string]*string{"retention.ms": kadm.StringPtr("86400000")}
	created := must(admin.CreateTopics(ctx, 2, 3, settings, topic))
	check(created[topic].Err)
	again := must(admin.CreateTopics(ctx, 2, 3, nil, topic))
	assert(errors.Is(again[topic].Err, kerr.TopicAlreadyExists), again)
	check(must(admin.UpdatePartitions(ctx, 3, topic))[topic].Err)
	until("three partitions", func() bool {
		found := must(admin.ListTopics(ctx, topic))[topic]
		return len(found.Partitions) == 3 && found.Partitions.NumReplicas() == 3
	})
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: kadm.StringPtr("7200000")}}
	check(must(admin.AlterTopicConfigs(ctx, change, topic))[0].Err)
	until("the new retention", func() bool {
		resource := must(must(admin.DescribeTopicConfigs(ctx, topic)).On(topic, nil))
		for _, config := range resource.Configs {
			if config.Key == "retention.ms" {
				return config.MaybeValue() == "7200000"
			}
		}
		return false
	})
	assert(len(must(admin.BrokerMetadata(ctx)).Brokers) == 3)
}

func records(ctx context.Context, brokers kgo.Opt) {
	codecs := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	for _, codec := range codecs {
		client := must(kgo.NewClient(brokers, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec)))
		for number := range 20 {
			record := kgo.KeyStringRecord(fmt.Sprint("k", number), "value")
			record.Headers = []kgo.RecordHeader{{Key: "h", Value: []byte("1")}}
			check(client.ProduceSync(ctx, record).FirstErr())
		}
		client.Close()
	}
	client := must(kgo.NewClient(brokers, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchMaxBytes(5_000_000),
		kgo.ProducerBatchCompression(kgo.NoCompression())))
	check(client.ProduceSync(ctx, &kgo.Record{}).FirstErr())
	large := client.ProduceSync(ctx, &kgo.Record{Value: make([]byte, 1_200_000)}).FirstErr()
	assert(errors.Is(large, kerr.MessageTooLarge), large)
	client.Close()
}

func member(brokers kgo.Opt) *kgo.Client {
	return must(kgo.NewClient(brokers, kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.AutoCommitInterval(200*time.Millisecond),
		kgo.FetchMaxWait(200*time.Millisecond)))
}

func groups(ctx context.Context, admin *kadm.Client, brokers kgo.Opt) {
	first := member(brokers)
	seen := 0
	for seen < 101 {
		fetches := first.PollFetches(ctx)
		check(fetches.Err())
		seen += fetches.NumRecords()
	}
	second := member(brokers)
	until("two members", func() bool {
		for _, client := range []*kgo.Client{first, second} {
			soon, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			seen += client.PollFetches(soon).NumRecords()
			cancel()
		}
		described := must(admin.DescribeGroups(ctx, group))[group]
		return described.State == "Stable" && len(described.Members) == 2
	})
	assert(seen == 101, seen)
	first.Close()
	second.Close()
	until("an empty group", func() bool { return must(admin.DescribeGroups(ctx, group))[group].State == "Empty" })
	assert(len(must(admin.ListGroups(ctx)).Groups()) > 0)
	assert(must(admin.Lag(ctx, group))[group].Lag.Total() == 0)
}

func offsets(ctx context.Context, admin *kadm.Client) {
	ends := must(admin.ListEndOffsets(ctx, topic))
	committed := must(admin.FetchOffsets(ctx, group))
	total := int64(0)
	ends.Each(func(end kadm.ListedOffset) { total += end.Offset })
	sum := int64(0)
	committed.Each(func(one kadm.OffsetResponse) { sum += max(one.At, 0) })
	assert(total == 101 && sum == 101, total, sum)
	must(admin.ListOffsetsAfterMilli(ctx, 1000, topic))
	must(admin.ListMaxTimestampOffsets(ctx, topic))
	to := kadm.Offsets{}
	to.AddOffset(topic, 0, 1, -1)
	check(must(admin.CommitOffsets(ctx, group, to)).Error())
	must(admin.DeleteOffsets(ctx, group, to.TopicsSet()))
	before := must(admin.DeleteRecords(ctx, ends.Offsets()))
	check(before.Error())
	must(admin.ListStartOffsets(ctx, topic)).Each(func(start kadm.ListedOffset) {
		end, _ := ends.Lookup(topic, start.Partition)
		assert(start.Offset == end.Offset, start)
	})
	check(must(admin.DeleteGroups(ctx, group))[group].Err)
}

func moves(ctx context.Context, admin *kadm.Client) {
	var request kadm.AlterPartitionAssignmentsReq
	moved := kadm.TopicsSet{}
	moved.Add(topic, 0)
	old := must(admin.ListTopics(ctx, topic))[topic].Partitions[0].Replicas
	request.Assign(topic, 0, old[1:])
	check(must(admin.AlterPartitionAssignments(ctx, request)).Error())
	until("the move", func() bool {
		found := must(admin.ListTopics(ctx, topic))[topic].Partitions[0]
		moving := must(admin.ListPartitionReassignments(ctx, moved))
		return len(found.Replicas) == 2 && len(moving) == 0
	})
	must(admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, moved))
	dirs := must(admin.DescribeAllLogDirs(ctx, moved))
	assert(len(dirs) == 2, dirs)
	must(admin.DescribeProducers(ctx, moved))
}

// transactions: what is aborted is as if it had never been.
func transactions(ctx context.Context, brokers kgo.Opt) {
	client := must(kgo.NewClient(brokers, kgo.TransactionalID("tx"), kgo.DefaultProduceTopic(topic)))
	defer client.Close()
	for _, end := range []kgo.TransactionEndTry{kgo.TryAbort, kgo.TryCommit} {
		err := client.BeginTransaction()
		assert(err == nil, err)
		err = client.ProduceSync(ctx, kgo.StringRecord("whole")).FirstErr()
		assert(err == nil, err)
		err = client.EndTransaction(ctx, end)
		assert(err == nil, err)
	}
}

// refusals: what there is not ends with an error of its own, soon.
func refusals(ctx context.Context, admin *kadm.Client) {
	_, err := admin.DescribeClientQuotas(ctx, false, nil)
	assert(err != nil, "quotas were described")
	_, err = admin.DescribeUserSCRAMs(ctx)
	assert(err != nil, "users were described")
}
