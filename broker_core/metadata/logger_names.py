"""Names of the loggers that a process of Apache Kafka 4.3 has soon after its start: package -> classes.

The Java process has one for each class that has been loaded and writes to the log, so some come with use.
"""

from __future__ import annotations

Names = dict[str, str]

OF_ANY: Names = {
    "": "LogFutureTimestampLogger",
    "com.yammer.metrics.reporting": "JmxReporter",
    "kafka.network": "ConnectionQuotas DataPlaneAcceptor Processor RequestChannel$ SocketServer",
    "kafka.request": "logger",
    "kafka.server": "KafkaRaftServer KafkaRequestHandler ReplicationQuotaManager SharedServer",
    "kafka.server.metadata": "DynamicConfigPublisher",
    "kafka.utils": "Log4jControllerRegistration$",
    "org.apache.kafka.clients": "ClientUtils ClusterConnectionStates CommonClientConfigs NetworkClient",
    "org.apache.kafka.common.config": "AbstractConfig ConfigDef",
    "org.apache.kafka.common.metrics": "JmxReporter Metrics",
    "org.apache.kafka.common.network": "ChannelBuilders NetworkReceive Selector",
    "org.apache.kafka.common.protocol": "Errors",
    "org.apache.kafka.common.record.internal": "ControlRecordType",
    "org.apache.kafka.common.requests": "FetchMetadata",
    "org.apache.kafka.common.security.oauthbearer": "DefaultJwtRetriever",
    "org.apache.kafka.common.utils": "AppInfoParser KafkaThread LoggingSignalHandler Utils",
    "org.apache.kafka.coordinator.group": "GroupConfig GroupCoordinatorConfig",
    "org.apache.kafka.coordinator.group.assignor": "SimpleAssignor UniformAssignor",
    "org.apache.kafka.image.loader": "MetadataBatchLoader MetadataLoader",
    "org.apache.kafka.image.publisher": "SnapshotEmitter SnapshotGenerator",
    "org.apache.kafka.metadata": "KRaftMetadataCache ListenerInfo",
    "org.apache.kafka.metadata.properties": "MetaPropertiesEnsemble",
    "org.apache.kafka.metadata.publisher": "AclPublisher",
    "org.apache.kafka.metadata.util": "BatchFileReader",
    "org.apache.kafka.queue": "KafkaEventQueue",
    "org.apache.kafka.raft":
        "FileQuorumStateStore FollowerState KafkaNetworkChannel KafkaNetworkChannel$SendThread KafkaRaftClient "
        "KafkaRaftClientDriver QuorumState TimingWheelExpirationService$ExpiredOperationReaper UnattachedState",
    "org.apache.kafka.raft.internals":
        "AddVoterHandler DefaultRequestSender KRaftControlRecordStateMachine KafkaRaftLog RecordsIterator "
        "RemoveVoterHandler UpdateVoterHandler VoterSetHistory",
    "org.apache.kafka.server": "BrokerFeatures NodeToControllerChannelManagerImpl NodeToControllerRequestThread",
    "org.apache.kafka.server.config": "ConfigSynonym",
    "org.apache.kafka.server.fault": "LoggingFaultHandler ProcessTerminatingFaultHandler",
    "org.apache.kafka.server.logger": "LoggingController",
    "org.apache.kafka.server.metrics": "LinuxIoMetricsCollector",
    "org.apache.kafka.server.network": "EndpointReadyFutures",
    "org.apache.kafka.server.purgatory": "DelayedOperationPurgatory DelayedOperationPurgatory$ExpiredOperationReaper",
    "org.apache.kafka.server.quota":
        "ClientQuotaManager ClientQuotaManager$ThrottledChannelReaper ControllerMutationQuotaManager",
    "org.apache.kafka.server.util": "FileLock KafkaScheduler",
    "org.apache.kafka.snapshot": "Snapshots",
    "org.apache.kafka.storage.internals.checkpoint": "CheckpointFileWithFailureHandler",
    "org.apache.kafka.storage.internals.epoch": "LeaderEpochFileCache",
    "org.apache.kafka.storage.internals.log":
        "AbstractIndex LocalLog LogCleaner LogDirFailureChannel LogLoader LogSegment OffsetIndex ProducerStateManager "
        "TimeIndex UnifiedLog",
    "org.apache.kafka.storage.log.metrics": "BrokerTopicStats",
}
OF_BROKERS: Names = {
    "kafka.coordinator.transaction": "TransactionCoordinator TransactionMarkerChannelManager",
    "kafka.log": "LogCleaner LogManager",
    "kafka.server":
        "BrokerServer ConfigAdminManager KafkaApis KafkaConfig ReplicaManager ReplicaManager$LogDirFailureHandler",
    "kafka.server.metadata": "BrokerMetadataPublisher",
    "kafka.server.share": "ShareCoordinatorMetadataCacheHelperImpl SharePartitionManager",
    "org.apache.kafka.common.metrics.stats": "Percentiles",
    "org.apache.kafka.common.utils": "ThreadUtils",
    "org.apache.kafka.coordinator.common.runtime":
        "CoordinatorLoaderImpl CoordinatorRuntime MultiThreadedEventProcessor "
        "MultiThreadedEventProcessor$EventProcessorThread",
    "org.apache.kafka.coordinator.group": "GroupCoordinatorService",
    "org.apache.kafka.coordinator.share": "ShareCoordinatorService",
    "org.apache.kafka.coordinator.transaction": "RPCProducerIdManager",
    "org.apache.kafka.image.publisher": "BrokerRegistrationTracker",
    "org.apache.kafka.server":
        "AssignmentsManager BrokerLifecycleManager ClientMetricsManager DelayedActionQueue FetchManager "
        "FetchSessionCacheShard",
    "org.apache.kafka.server.config": "DynamicProducerStateManagerConfig",
    "org.apache.kafka.server.share.persister": "DefaultStatePersister PersisterStateManager$SendThread",
    "org.apache.kafka.server.transaction": "AddPartitionsToTxnManager",
    "org.apache.kafka.server.util": "NetworkPartitionMetadataClient",
    "org.apache.kafka.server.util.timer": "SystemTimerReaper$Reaper",
    "org.apache.kafka.storage.internals.checkpoint": "CleanShutdownFileHandler",
    "org.apache.kafka.storage.internals.log": "Cleaner LogCleaner$CleanerThread",
    "org.apache.kafka.storage.internals.utils": "Throttler",
    "state.change": "logger",
}
OF_CONTROLLERS: Names = {
    "kafka.server": "ControllerApis ControllerRegistrationManager ControllerServer",
    "org.apache.kafka.controller":
        "AclControlManager ClientQuotaControlManager ClusterControlManager ConfigurationControlManager "
        "DelegationTokenControlManager EventPerformanceMonitor FeatureControlManager OffsetControlManager "
        "PeriodicTaskControlManager ProducerIdControlManager QuorumController ReplicationControlManager "
        "ScramControlManager",
    "org.apache.kafka.deferred": "DeferredEventQueue",
    "org.apache.kafka.metadata.publisher": "FeaturesPublisher",
    "org.apache.kafka.raft": "ProspectiveState",
    "org.apache.kafka.timeline": "SnapshotRegistry",
}
