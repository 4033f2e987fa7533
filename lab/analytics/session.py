"""Starting Spark, quickly.

| where | asked for by |
|---|---|
| in this process's own virtual machine | nothing, or `--master local[N]` |
| a cluster | `--master spark://...` (or what else Spark knows); the package travels as a zip |
| Spark Connect | `--master sc://...` or the environment's `SPARK_REMOTE` |
| what `spark-submit` has started | running under it |

A Java virtual machine spends most of Spark's start-up on reading and checking 15,000 classes. Two things
help: an archive of the classes as they lie in memory (class data sharing, JEP 350), and a compiler that
is content with quick code (`-XX:TieredStopAtLevel=1`). The first session leaves the archive when it
ends, the following ones map it. Quick code is slow code: sessions that only compute for long
(`quick=False`) get the full compiler and the collector that costs the least (`-XX:+UseParallelGC`).

| two cores, measured | session | first job |
|---|---|---|
| plain | 7 - 14 s | 3 - 5 s |
| archive and quick compiler | 2 - 4 s | 1 - 1.5 s |
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from broker_core.kernel.problems import problem
from lab.analytics.errors import AnalyticsError
from lab.analytics.java import Java, cache_directory, find_java
from lab.places import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("broker_core", "lab")
CONNECT_PORT = 15002
ARCHIVING_BY_ITSELF = 19
"""From this Java on one flag makes and renews the archive."""
ARROW_OPTIONS = ("-Darrow.enable_unsafe_memory_access=true", "-Darrow.enable_null_check_for_get=false")
"""Arrow's Java looks at bounds and nulls again at every value that Spark reads, a fifth of what rows cost."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50000",
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a run may be called 0001
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "4",
    "spark.sql.shuffle.partitions": "4",
    "spark.python.worker.reuse": "true",
}


def start(
    name: str = "brokerlab", master: str | None = None, *, quick: bool = True, memory: str = "1g", quiet: bool = True,
    settings: dict[str, str] | None = None,
) -> SparkSession:  # fmt: skip
    """A session with the lab's sources registered; the one that is there already, if any.

    `quiet` sends what the virtual machine prints to a file in the cache directory. Raises AnalyticsError.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise AnalyticsError(problem("no_package", name="PySpark")) from None
    builder = SparkSession.builder.appName(name)
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    master = master or os.environ.get("SPARK_REMOTE")
    if master is not None and master.startswith("sc://"):
        session = _connect(builder, master)
    elif "PYSPARK_GATEWAY_PORT" in os.environ:
        session = builder.getOrCreate()
        _send_package(session)
        _settle(session)
    else:
        session = _start_machine(builder, master or default_master(), quick, memory, quiet)
    _register(session)
    return session


def _connect(builder: Any, address: str) -> SparkSession:
    """A session at a Spark Connect server; the package goes there as a zip.

    Its client would try for minutes to reach a server that is not there: one look at the port comes first.
    """
    place = urlsplit(address)
    try:
        socket.create_connection((place.hostname or "", place.port or CONNECT_PORT), 10).close()
        session: SparkSession = builder.remote(address).getOrCreate()
        session.addArtifact(str(package_zip()), pyfile=True)
        _settle(session)
    except ImportError as error:
        raise AnalyticsError(problem("connect_needs", name=error.name)) from None
    except Exception as error:
        raise AnalyticsError(problem("no_connect", address=address, why=_first_line(error))) from error
    return session


def _settle(session: SparkSession) -> None:
    """The settings of a session that somebody else has started, as far as they can still be set."""
    for key, value in _SETTINGS.items():
        if key.startswith("spark.sql.") and session.conf.isModifiable(key):
            session.conf.set(key, value)


def default_master() -> str:
    """As many tasks at once as there are cores, four at most: runs are small. A task that fails is tried once more."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return f"local[{min(4, cores)},2]"


def plenty() -> str:
    """Memory for much to compute: a quarter of the machine's, 1 to 4 GiB."""
    has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{min(4, max(1, has // 4))}g"


def _start_machine(builder: Any, master: str, quick: bool, memory: str, quiet: bool) -> SparkSession:
    """Start a virtual machine of our own as the driver."""
    java = find_java()
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ["SPARK_LAUNCHER_OPTS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_directory() / "numba"))
    local = master.startswith("local")
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
    given = {
        **_SETTINGS, "spark.master": master, "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": " ".join(machine_options(java, quick)),
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1",
        "spark.executorEnv.NUMBA_CACHE_DIR": os.environ["NUMBA_CACHE_DIR"],
        "spark.sql.warehouse.dir": str(cache_directory() / "warehouse"),
        **builder._options,
    }  # fmt: skip
    for key, value in given.items():
        builder = builder.config(key, value)
    with _told_to_file(quiet):
        try:
            session: SparkSession = builder.getOrCreate()
        except Exception as error:
            raise AnalyticsError(problem("not_started", name=master, why=_first_line(error))) from error
    if not local:
        _send_package(session)
    return session


def _send_package(session: SparkSession) -> None:
    """Executors elsewhere get the package unpacked beside their work, where its data files can be read."""
    context = session.sparkContext
    context.addArchive(f"{package_zip()}#brokerlab")
    context.environment["PYTHONPATH"] = "brokerlab"


def machine_options(java: Java, quick: bool) -> list[str]:
    """Flags of the driver's virtual machine."""
    options = ["-Xlog:disable", "-Dlog4j2.level=ERROR", *ARROW_OPTIONS]
    # Quick code has 48 MB by default, full after two replays: then everything is interpreted.
    quickly = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC"]
    options += quickly if quick else ["-XX:+UseParallelGC"]
    archive = cache_directory() / f"classes-{_spark_version()}-{java.key}.jsa"
    if java.version >= ARCHIVING_BY_ITSELF:
        return [*options, "-XX:+AutoCreateSharedArchive", f"-XX:SharedArchiveFile={archive}"]
    _adopt(archive)
    if archive.exists():
        return [*options, f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    return [*options, f"-XX:ArchiveClassesAtExit={archive}.{os.getpid()}"]


def _adopt(archive: Path) -> None:
    """Take the archive that an ended session has left; those of running ones are not complete."""
    for left in sorted(archive.parent.glob(f"{archive.name}.*")):
        owner = left.name.rpartition(".")[2]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            with suppress(FileNotFoundError):  # another session that starts now has taken it
                left.replace(archive)


def _spark_version() -> str:
    from pyspark.version import __version__

    return str(__version__)


@contextmanager
def _told_to_file(quiet: bool) -> Iterator[None]:
    """What is started meanwhile has a file as its standard error: the machine's remarks on itself. This program tells
    what it has to tell where it always did: it may be interrupted meanwhile."""
    if not quiet:
        yield
        return
    sys.stderr.flush()
    log = os.open(cache_directory() / "machine.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    with open(os.dup(2), "w") as kept, redirect_stderr(kept) if _is_standard_error(sys.stderr) else nullcontext():
        try:
            os.dup2(log, 2)
            yield
        finally:
            os.dup2(kept.fileno(), 2)
            os.close(log)


def _is_standard_error(stream: Any) -> bool:
    try:
        return bool(stream.fileno() == 2)
    except (OSError, AttributeError):  # not a file: something captures it
        return False


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _register(session: SparkSession) -> None:
    from lab.analytics.journal import JournalSource
    from lab.analytics.segments import SegmentSource

    session.dataSource.register(SegmentSource)
    session.dataSource.register(JournalSource)


def tag(session: SparkSession, name: str) -> None:
    """What this thread asks of Spark from now on can be interrupted by this name."""
    try:
        session.sparkContext.addJobTag(name)
    except Exception:  # Spark Connect has no context; here its own tags do nothing for threads
        session.addTag(name)


def untag(session: SparkSession, name: str) -> None:
    """The end of `tag`; of a session that has broken, too."""
    try:
        session.sparkContext.removeJobTag(name)
    except Exception:
        session.removeTag(name)


def interrupt(session: SparkSession, name: str) -> None:
    """End what works under a tag."""
    try:
        session.sparkContext.cancelJobsWithTag(name)
    except Exception:
        session.interruptTag(name)


def stop(session: SparkSession) -> None:
    """End the session and its virtual machine."""
    session.stop()
    try:
        from pyspark import SparkContext
    except ImportError:
        return
    gateway = getattr(SparkContext, "_gateway", None)
    if gateway is None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    process = getattr(gateway, "proc", None)
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    if process is not None:
        process.stdin.close()
        process.wait(60)


def package_zip() -> Path:
    """The lab's packages as a zip for executors elsewhere; named by its content, made when it is not there."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*"))
             if path.is_file() and "__pycache__" not in path.parts]
    digest = hashlib.sha256()
    contents = [(path.relative_to(ROOT).as_posix(), path.read_bytes()) for path in files]
    for name, content in contents:
        digest.update(f"{name}:{len(content)}:".encode() + content)
    target = cache_directory() / f"brokerlab-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        temporary = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, content in contents:
                packed.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
        temporary.replace(target)
    return target
